-- Entries of the shard: where each is, and how it leaves and enters; the seen set; sites; reasons.

local BODY, SPOT = '<Bdc16c8dddB', '<BBc8c16dLdIIddd'

-- Where the one with this id is; raw: of P s; body: of P e, needed where raw is false
local function spot_of(id, raw, body)
  local s = {id = id, tail = ''}
  local _
  if raw then
    local failed, time, again, at
    s.state, s.class, s.grp, s.fp, s.priority, s.seq, s.since, s.attempt, s.excused, failed, time, again, at = su(SPOT, raw)
    s.failed, s.time, s.again, s.tail = some(failed), some(time), some(again), sub(raw, at)
  else
    s.state, s.class, s.attempt, s.excused, s.seq = PENDING, NEW, 0, 0, id
    _, s.since, s.fp, s.grp, s.priority = su(BODY, body)
  end
  return s
end
local function spots_of(ids)
  local raws, without, found = hmget(P .. 's', ids), {}, {}
  for i, id in ipairs(ids) do
    if not raws[i] then without[#without + 1] = id end
  end
  local bodies, at = hmget(P .. 'e', without), 0
  for i, id in ipairs(ids) do
    if raws[i] then
      found[id] = spot_of(tonumber(id), raws[i])
    else
      at = at + 1
      if not bodies[at] then error('URLSIEVE broken: no text of entry ' .. id) end
      found[id] = spot_of(tonumber(id), false, bodies[at])
    end
  end
  return found
end
local spot_writes = {}
local function keep(s)
  local w = spot_writes
  w[#w + 1] = text(s.id)
  w[#w + 1] = sp(SPOT, s.state, s.class, s.grp, s.fp, s.priority, s.seq, s.since, s.attempt, s.excused, orNone(s.failed), orNone(s.time),
    orNone(s.again)) .. s.tail
end
local function member(s)
  if s.seq == s.id then return sp('>L', s.seq) end
  return sp('>LL', s.seq, s.id)
end
local function id_in(m)
  if #m == 8 then return (su('>L', m)) end
  local _, id = su('>LL', m)
  return id
end
local function queue_of(class, grp) return P .. 'q' .. class .. grp end

local arriving, arriving_keys = {}, {}
local function queue_up(grp, class, priority, m)
  local key = queue_of(class, grp)
  local list = arriving[key]
  if not list then list = {}; arriving[key] = list; arriving_keys[#arriving_keys + 1] = key end
  list[#list + 1] = -priority
  list[#list + 1] = m
  local top = head_of(grp, class)
  if not top or priority > top then
    local g = group(grp)
    g.tops[class + 1] = priority
    touch(g)
  end
end
local function arrive(s)
  if G[s.grp] == nil then load_groups({s.grp}) end
  queue_up(s.grp, s.class, s.priority, member(s))
  add('pending', 1)
  add(CLASS[s.class], 1)
end
-- Out of wherever it is, uncounted; its records stay. Its group's heads are looked at again.
local function leave(s)
  if s.state == PENDING then
    local g = group(s.grp)
    call('ZREM', queue_of(s.class, s.grp), member(s))
    g.heads[s.class + 1] = true
    touch(g)
    add(CLASS[s.class], -1)
  elseif s.state == LEASED then
    local g = group(s.grp)
    call('ZREM', P .. 'exp', member(s))
    g.leased = g.leased - 1
    touch(g)
  elseif s.state == DELAYED then
    call('ZREM', P .. 'due', member(s))
  elseif s.state == DEAD then
    call('ZREM', P .. 'bury', member(s))
  end
  add(STATE[s.state], -1)
end
-- To where its state says
local function enter(s)
  if s.state == PENDING then
    arrive(s)
  else
    call('ZADD', P .. (s.state == DELAYED and 'due' or s.state == DEAD and 'bury' or 'exp'), s.time, member(s))
    add(STATE[s.state], 1)
  end
  keep(s)
end

local marks, mark_sites = {}, {}
local function mark(fp, value)
  local site = sub(fp, 1, 8)
  local list = marks[site]
  if not list then list = {}; marks[site] = list; mark_sites[#mark_sites + 1] = site end
  list[#list + 1] = sub(fp, 9)
  list[#list + 1] = value
end
local function with_text(id) return '-' .. text(id + 10) end -- done, and its text is kept

-- What is known of these fingerprints (in one block): marks as numbers, false where not seen
local function known_of(fps)
  local sites, order, found = {}, {}, {}
  if #fps <= 64 * 16 then -- mostly of different sites: one by one is quicker
    for i = 1, #fps / 16 do
      local value = call('HGET', P .. 'f' .. sub(fps, 16 * i - 15, 16 * i - 8), sub(fps, 16 * i - 7, 16 * i))
      found[i] = value and tonumber(value)
    end
    return found
  end
  for i = 1, #fps / 16 do
    local site = sub(fps, 16 * i - 15, 16 * i - 8)
    local at = sites[site]
    if not at then at = {halves = {}, where = {}}; sites[site] = at; order[#order + 1] = site end
    at.halves[#at.halves + 1] = sub(fps, 16 * i - 7, 16 * i)
    at.where[#at.where + 1] = i
  end
  for _, site in ipairs(order) do
    local at = sites[site]
    for j, value in ipairs(hmget(P .. 'f' .. site, at.halves)) do found[at.where[j]] = value and tonumber(value) end
  end
  return found
end

local function site_changed(site)
  if not site.touched then site.touched = true; site_order[#site_order + 1] = site end
end
-- domain: nil where nobody counts by it
local function ensure_site(half, name, domain)
  if S[half] == nil then load_sites({half}) end
  local site = S[half]
  if not site then
    site = {half = half, known = 0, name = name}
    S[half] = site
    add('sites', 1)
    site_changed(site)
  end
  if domain then told[half] = domain end
  return site
end
local function only_known(fp, by)
  local site = S[sub(fp, 1, 8)]
  site.known = site.known + by
  site_changed(site)
end

-- No longer seen: uncounted, and out of its queue. Its mark and its records are the caller's to take: the id of those, where it has any.
local function uncount(fp, value, spots)
  add('seen', -1)
  if value == -1 then
    add('known', -1)
    only_known(fp, -1)
    return
  end
  accept(sub(fp, 1, 8), -1)
  if value > 0 then
    leave(spots[text(value)])
    return text(value)
  end
  add(value == -2 and 'dead' or 'done', -1)
  return value <= -10 and text(-value - 10) or nil
end
-- Marks go: lists of URL halves by site half
local function unmark(fields)
  for half, list in pairs(fields) do spread('HDEL', P .. 'f' .. half, list) end
end

-- Reasons are the callers' words: beyond 200 of a kind the rest is "other".
local function tally(kind, reason, by)
  local field = kind .. '.' .. reason
  if call('HEXISTS', P .. 't', field) == 0 and call('HINCRBY', P .. 't', '#' .. kind, 0) >= 200 then field = kind .. '.other' end
  if call('HINCRBY', P .. 't', field, by) == by then call('HINCRBY', P .. 't', '#' .. kind, 1) end
  return field
end
-- The newest 100 of a reason, for people: `field` as `tally` gave it, tail: what was pushed. pcall: nothing else depends on it, so a
-- key of another type must not stop a script half-way.
local EXAMPLE, MOST_EXAMPLES, LONGEST_EXAMPLE = '<ddBH', 100, 2000
local function example(field, tail)
  local _, _, _, depth, _, flags, at = su('<c16c8dddB', tail)
  local sizes = {}
  for i, bit in ipairs({2, 4, 8}) do
    sizes[i] = 0
    if math.floor(flags / bit) % 2 == 1 then sizes[i], at = su('<I', tail, at) end
  end
  local via = sub(tail, at, at + math.min(sizes[1], LONGEST_EXAMPLE) - 1)
  at = at + sizes[1] + sizes[2] + sizes[3]
  local packed = sp(EXAMPLE, now, depth, flags % 2, #via) .. via .. sub(tail, at, at + LONGEST_EXAMPLE - 1)
  redis.pcall('LPUSH', P .. 'x' .. field, packed)
  redis.pcall('LTRIM', P .. 'x' .. field, 0, MOST_EXAMPLES - 1)
end

-- Ids and stamps of tokens in one block of 32 bytes each.
local function tokens_in(block)
  local ids, stamps = {}, {}
  for i = 1, #block / 32 do
    local id
    id, stamps[i] = su('<dc24', block, 32 * i - 31)
    ids[i] = text(id)
  end
  return ids, stamps
end
