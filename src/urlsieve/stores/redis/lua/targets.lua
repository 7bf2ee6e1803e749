-- Redirect targets are entries of their own, done: also when they were waiting; a target leased by a worker is left alone.
-- 4 rules generation of the caller ("": any), 5 fingerprints in one block, 6 how many names, then hash and name of each site and group,
-- then what would have been pushed of each. head, 1; 0 if the caller's rules are old, and nothing was done.
if ARGV[4] ~= '' and tonumber(ARGV[4]) < n.rgen then return {head(), 0} end
local fps, names = ARGV[5], {}
for i = 7, 6 + 2 * ARGV[6], 2 do names[ARGV[i]] = ARGV[i + 1] end
local first_tail = 6 + 2 * ARGV[6]
local many, known = #fps / 16, known_of(fps)
local halves, groups, live = {}, {}, {}
for i = 1, many do
  halves[i] = sub(fps, 16 * i - 15, 16 * i - 8)
  groups[#groups + 1] = sub(ARGV[first_tail + i], 17, 24)
  if known[i] and known[i] > 0 then live[#live + 1] = text(known[i]) end
end
local spots = spots_of(live)
for _, s in pairs(spots) do groups[#groups + 1] = s.grp end
load_sites(halves)
load_groups(groups)

begin(true)
local texts, gone, stamp = {}, {}, sp('<Bd', 1, now)
for i = 1, many do
  local fp, value = sub(fps, 16 * i - 15, 16 * i), known[i]
  if not value or value == -1 then -- accepted, also beyond a limit: it was fetched
    ensure_site(halves[i], names[halves[i]], names[halves[i] .. 'd'])
    ensure(groups[i], names[groups[i]])
    if value then
      add('known', -1)
      only_known(fp, -1)
    else
      add('seen', 1)
    end
    accept(halves[i], 1)
    add('done', 1)
    if policy.keep_urls then
      local id = take('entry')
      texts[#texts + 1] = text(id)
      texts[#texts + 1] = stamp .. ARGV[first_tail + i]
      mark(fp, with_text(id))
    else
      mark(fp, '0')
    end
  elseif value == -2 then
    add('dead', -1)
    add('done', 1)
    mark(fp, '0')
  elseif value > 0 and spots[text(value)].state ~= LEASED then
    local s = spots[text(value)]
    leave(s)
    add('done', 1)
    gone[#gone + 1] = text(s.id)
    mark(fp, policy.keep_urls and with_text(s.id) or '0')
  end
end
spread('HSET', P .. 'e', texts)
spread('HDEL', P .. 's', gone)
if not policy.keep_urls then spread('HDEL', P .. 'e', gone) end
finish()
return {head(), 1}
