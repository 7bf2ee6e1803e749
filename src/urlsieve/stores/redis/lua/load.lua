-- 4 "1": with what was pushed, then the id and stamp of each token in one block of 32 bytes.
-- head, rows (false: lost): spot, body or "", then hash and record of each group, then hash and name of each site.
local whole, tokens = ARGV[4] == '1', ARGV[5]
local ids, stamps = tokens_in(tokens)
local rows, live, groups, halves = {}, {}, {}, {}
for i, raw in ipairs(hmget(P .. 's', ids)) do
  local s = raw and spot_of(tonumber(ids[i]), raw)
  rows[i] = false
  if s and s.state == LEASED and s.tail == stamps[i] then
    rows[i] = {raw, ''}
    live[#live + 1] = i
    groups[#groups + 1] = s.grp
    halves[#halves + 1] = sub(s.fp, 1, 8)
  end
end
local sites, records = {}, {}
if whole then
  local wanted = {}
  for j, i in ipairs(live) do wanted[j] = ids[i] end
  for j, body in ipairs(hmget(P .. 'e', wanted)) do rows[live[j]][2] = body end
  load_sites(halves)
  for half, site in pairs(S) do
    if site then sites[#sites + 1] = half; sites[#sites + 1] = site.name end
  end
end
load_groups(groups)
for id, g in pairs(G) do
  if g then records[#records + 1] = id; records[#records + 1] = type(g) == 'string' and g or packed(g) end
end
return {head(), rows, records, sites}
