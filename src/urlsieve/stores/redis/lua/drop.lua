-- Not seen any more: marks, queue entries, leases and texts go. 4 fingerprints in one block, 5 "" or the site half whose row goes too
-- when nothing of it is left, 6 further fingerprints of these: its own and an earlier one in 32 bytes each. head, how many were seen
-- under one fingerprint or another; false: the caller's rules (7: their generation, "": any) are old, and nothing was done.
local own, whole_site, earlier = ARGV[4], ARGV[5], ARGV[6]
if ARGV[7] ~= '' and tonumber(ARGV[7]) < n.rgen then return {head(), false} end
local prints, owners = {own}, {}
for j = 1, #earlier / 32 do owners[#own / 16 + j], prints[j + 1] = su('<c16c16', earlier, 32 * j - 31) end
local fps = table.concat(prints)
local known, live, groups, halves, firsts, counted = known_of(fps), {}, {}, {}, {}, {}
local many = 0
for i = 1, #fps / 16 do
  local fp = sub(fps, 16 * i - 15, 16 * i)
  if known[i] and not firsts[fp] then
    firsts[fp] = i
    local owner = owners[i] or fp
    if not counted[owner] then many = many + 1 end
    counted[owner] = true
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
  local half = sub(fp, 1, 8)
  fields[half] = fields[half] or {}
  table.insert(fields[half], sub(fp, 9))
  gone[#gone + 1] = uncount(fp, known[i], spots)
end
unmark(fields)
spread('HDEL', P .. 's', gone)
spread('HDEL', P .. 'e', gone)
if many > 0 then add('generation', 1) end
finish()
local site = whole_site ~= '' and S[whole_site]
if site and not site.limit and call('HLEN', P .. 'f' .. whole_site) == 0 then
  local domain, pages, bytes = call('HGET', P .. 'd', whole_site), pages_and_bytes(call('HGET', P .. 'u', whole_site))
  grow(whole_site, 0, -pages, -bytes)
  add('sites', -1)
  finish()
  call('HDEL', P .. 'i', whole_site)
  call('HDEL', P .. 'u', whole_site)
  call('HDEL', P .. 'd', whole_site)
  if domain then
    call('SREM', P .. 'D' .. domain, whole_site)
    if call('EXISTS', P .. 'D' .. domain) == 0 then call('HDEL', P .. 'c', domain) end
  end
end
return {head(), many}
