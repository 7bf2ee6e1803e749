-- Not seen any more: marks, queue entries, leases and texts go. 4 fingerprints in one block, 5 "" or the site half whose row goes too
-- when nothing of it is left. head, how many were seen.
local fps, whole_site = ARGV[4], ARGV[5]
local known, live, groups, halves, firsts = known_of(fps), {}, {}, {}, {}
local many = 0
for i = 1, #fps / 16 do
  local fp = sub(fps, 16 * i - 15, 16 * i)
  if known[i] and not firsts[fp] then
    firsts[fp] = i
    many = many + 1
    halves[#halves + 1] = sub(fp, 1, 8)
    if known[i] > 0 then live[#live + 1] = text(known[i]) end
  end
end
local spots = spots_of(live)
for _, s in pairs(spots) do groups[#groups + 1] = s.grp end
load_groups(groups)
if whole_site ~= '' then halves[#halves + 1] = whole_site end
load_sites(halves)
if many == 0 and whole_site == '' then return {head(), 0} end

begin(true)
local gone, fields = {}, {}
for fp, i in pairs(firsts) do
  local value, half = known[i], sub(fp, 1, 8)
  fields[half] = fields[half] or {}
  table.insert(fields[half], sub(fp, 9))
  add('seen', -1)
  if value == -1 then
    add('known', -1)
    only_known(fp, -1)
  else
    add('accepted', -1)
    if value > 0 then
      leave(spots[text(value)])
      gone[#gone + 1] = text(value)
    elseif value == -2 then
      add('dead', -1)
    else
      add('done', -1)
      if value <= -10 then gone[#gone + 1] = text(-value - 10) end
    end
  end
end
for half, list in pairs(fields) do spread('HDEL', P .. 'f' .. half, list) end
spread('HDEL', P .. 's', gone)
spread('HDEL', P .. 'e', gone)
if many > 0 then add('generation', 1) end
finish()
local site = whole_site ~= '' and S[whole_site]
if site and not site.limit and call('HLEN', P .. 'f' .. whole_site) == 0 then
  call('HDEL', P .. 'i', whole_site)
  add('sites', -1)
  finish()
end
return {head(), many}
