-- What a change of rules makes of entries. 4 number of the sweep, 5 epoch in which the caller began with it, 6 fingerprints to forget, each
-- with its entry (0: none) in 24 bytes, 7 those to move, in the order of stores/sweeping.py: fingerprint, entry, new fingerprint and flags
-- in 41 each, 8 "1": the shard is done with after these, 9 how many names, then half and name of each site that something moves to. head; 0
-- if the shard was done with before, or the server has restarted since the caller began, perhaps without what it did: then nothing is
-- done; how many were forgotten, moved, went because another was there already, and were left where they are.
-- Whoever sweeps has looked before, perhaps long ago: only what is still as it was then is touched, so that repeating this is harmless.
-- Flags: 1 it goes rather than stay, also when it has lost its text since; 2 all of these leave before the first arrives: they change places.
local number, gone, moves = tonumber(ARGV[4]), ARGV[6], ARGV[7]
if tonumber(ARGV[5]) ~= n.epoch or tonumber(call('GET', P .. 'w') or 0) >= number then return {head(), 0, 0, 0, 0, 0} end
local names = {}
for i = 10, 9 + 2 * ARGV[9], 2 do names[ARGV[i]] = ARGV[i + 1] end
local olds, ids, news, flags = {}, {}, {}, {}
for i = 1, #gone / 24 do olds[i], ids[i] = su('<c16d', gone, 24 * i - 23) end
local forgets = #olds
for i = 1, #moves / 41 do
  local at = forgets + i
  olds[at], ids[at], news[i], flags[at] = su('<c16dc16B', moves, 41 * i - 40)
end

-- reading
local known, there = known_of(table.concat(olds)), known_of(table.concat(news))
local live, halves = {}, {}
for i, fp in ipairs(olds) do
  halves[i] = sub(fp, 1, 8)
  if known[i] and known[i] > 0 and known[i] == ids[i] then live[#live + 1] = text(known[i]) end
end
local spots, groups = spots_of(live), {}
for _, s in pairs(spots) do groups[#groups + 1] = s.grp end
load_groups(groups)
load_sites(halves)
local arriving_at = {}
for i, fp in ipairs(news) do arriving_at[i] = sub(fp, 1, 8) end
load_sites(arriving_at)

local FORGET, MOVE, LEAVE = 1, 2, 3
local acts, at, met = {}, {}, {} -- at: what is at each new fingerprint, as it becomes
for i, fp in ipairs(news) do at[fp] = there[i] or false end
local function go(i, act)
  acts[i] = act
  if at[olds[i]] ~= nil then at[olds[i]] = false end
end
for i, fp in ipairs(olds) do
  local value = known[i]
  local id = value and (value > 0 and value or value <= -10 and -value - 10) or 0
  if value and not met[fp] and (id == 0 or id == ids[i]) then
    local spot = value > 0 and spots[text(id)]
    if i > forgets then
      acts[i] = id == 0 and (flags[i] % 2 == 1 and FORGET or LEAVE) or MOVE
      if acts[i] == FORGET or (acts[i] == MOVE and flags[i] >= 2) then go(i, acts[i]) end
    elseif not spot or spot.state == DEAD then
      go(i, FORGET)
    end
  end
  met[fp] = true
end
local moved, texts, kept, raws = {}, {}, {}, {}
for i = forgets + 1, #olds do
  local fp = news[i - forgets]
  if acts[i] == MOVE then
    local spot = known[i] > 0 and spots[text(ids[i])]
    if not at[fp] or at[fp] == -1 then
      if flags[i] < 2 then go(i, MOVE) end
      moved[#moved + 1] = {i = i, fp = fp, over = at[fp] == -1}
      texts[#texts + 1] = text(ids[i])
      at[fp] = known[i]
    elseif flags[i] >= 2 then
      acts[i] = FORGET
    elseif flags[i] == 1 or (spot and (spot.state == PENDING or spot.state == DELAYED)) then
      go(i, FORGET)
    else
      acts[i] = LEAVE
    end
  end
end
local bodies, places = hmget(P .. 'e', texts), hmget(P .. 's', texts)
for j, id in ipairs(texts) do
  if not bodies[j] then error('URLSIEVE broken: no text of entry ' .. id) end
end

begin(true)
local forgotten, merged, left, leaving, fields = 0, 0, 0, {}, {}
for i, act in pairs(acts) do
  if act == LEAVE then
    left = left + 1
  else
    local half = halves[i]
    fields[half] = fields[half] or {}
    table.insert(fields[half], sub(olds[i], 9))
  end
  if act == FORGET then
    leaving[#leaving + 1] = uncount(olds[i], known[i], spots)
    if i <= forgets or known[i] == 0 or known[i] == -2 then forgotten = forgotten + 1 else merged = merged + 1 end
  end
end
unmark(fields)
spread('HDEL', P .. 's', leaving)
spread('HDEL', P .. 'e', leaving)
for j, m in ipairs(moved) do
  local half = sub(m.fp, 1, 8)
  ensure_site(half, names[half], names[half .. 'd'])
  if m.over then
    add('seen', -1)
    add('known', -1)
    only_known(m.fp, -1)
  end
  grow(halves[m.i], -1, 0, 0)
  grow(half, 1, 0, 0)
  mark(m.fp, text(known[m.i]))
  kept[2 * j - 1], kept[2 * j] = texts[j], sub(bodies[j], 1, 9) .. m.fp .. sub(bodies[j], 26) -- BODY: version, since, fingerprint
  if places[j] then
    raws[#raws + 1] = texts[j]
    raws[#raws + 1] = sub(places[j], 1, 10) .. m.fp .. sub(places[j], 27) -- SPOT: state, class, group, fingerprint
  end
end
spread('HSET', P .. 'e', kept)
spread('HSET', P .. 's', raws)
if next(fields) then add('generation', 1) end
if ARGV[8] == '1' then call('SET', P .. 'w', ARGV[4]) end
finish()
return {head(), 1, forgotten, #moved, merged, left}
