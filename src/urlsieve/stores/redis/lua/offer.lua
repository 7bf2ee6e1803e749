-- 4 mode, 5 rules generation of the caller, 6 URLs that wait in other shards (for the high-water mark), 7 fingerprints in one block,
-- 8 how many names, then hash and name of each site and group, then what was pushed, per fingerprint (nothing where only marked known);
-- then, where there are any, two: position and earlier fingerprint in 18 bytes each, and positions of those seen elsewhere in 2.
-- Where the rules have limits (then the two are there), three more: profiles of limits (12 numbers each: site, domain, job, day; URLs, pages,
-- bytes), the profile of each position in 2 bytes, and six numbers: URLs, pages, bytes of job and day in the other shards.
-- head, verdicts: one byte each; false: the caller's rules are old.
local MODE_NEW, MODE_RAISE, MODE_AGAIN, MARK_DONE, MARK_KNOWN = 0, 1, 2, 3, 4
local V_SEEN, V_NEW, V_RAISED, V_REQUEUED, V_FULL, V_LIMIT = 0, 1, 2, 3, 4, 5
local V_BUDGET = 6
local REFUSALS = {[V_FULL] = 'full', [V_LIMIT] = 'limit', [V_BUDGET] = 'budget'}
local PUSHED = '<c16c8ddd'

local mode, fps = tonumber(ARGV[4]), ARGV[7]
if tonumber(ARGV[5]) < n.rgen then return {head(), false} end
local many, names = #fps / 16, {}
for i = 9, 8 + 2 * ARGV[8], 2 do names[ARGV[i]] = ARGV[i + 1] end
local first_tail = 8 + 2 * ARGV[8]
local function pushed(i)
  local _, grp, priority, _, due = su(PUSHED, ARGV[first_tail + i])
  due = due == due and due + shift or nil
  return grp, priority, due and due > now and due or nil
end

-- reading: what is known, the sites, the entries that are there, the groups
local known, verdicts, firsts, fresh, old = known_of(fps), {}, {}, {}, {}
-- What was seen under an earlier fingerprint goes by that one (`by`); its own is marked as known, as is what was seen elsewhere.
local by, marked = {}, {}
if #ARGV > first_tail + many then
  local earlier, elsewhere, owners, prints, hits, found = ARGV[first_tail + many + 1], ARGV[first_tail + many + 2], {}, {}, {}, {}
  for j = 1, #earlier / 18 do owners[j], prints[j] = su('<Hc16', earlier, 18 * j - 17) end
  local values = known_of(table.concat(prints))
  for j, i in ipairs(owners) do
    if values[j] and (not known[i] or known[i] == -1) then -- one that is an entry before one that is only known
      local own = sub(fps, 16 * i - 15, 16 * i)
      if not hits[own] or (hits[own].value == -1 and values[j] ~= -1) then hits[own] = {fp = prints[j], value = values[j]} end
      found[own] = true
    end
  end
  for j = 1, #elsewhere / 2 do
    local i = su('<H', elsewhere, 2 * j - 1)
    if not known[i] then found[sub(fps, 16 * i - 15, 16 * i)] = true end
  end
  local done = {}
  for i = 1, many do
    local own = sub(fps, 16 * i - 15, 16 * i)
    if found[own] then
      if not known[i] then
        if not done[own] then marked[#marked + 1] = i end
        done[own] = true
        known[i] = -1
      end
      local hit = hits[own]
      if hit and hit.value ~= -1 then by[i], known[i] = hit.fp, hit.value end
    end
  end
end
for i = 1, many do
  local fp = by[i] or sub(fps, 16 * i - 15, 16 * i)
  verdicts[i] = V_SEEN
  if not firsts[fp] then
    firsts[fp] = i
    if not known[i] then
      fresh[#fresh + 1] = i
    elseif mode == MODE_RAISE or mode == MODE_AGAIN then
      old[#old + 1] = i
    end
  end
end
local halves = {}
for _, list in ipairs({fresh, old, marked}) do
  for _, i in ipairs(list) do halves[#halves + 1] = sub(fps, 16 * i - 15, 16 * i - 8) end
end
load_sites(halves)
local spots, bodies, groups = {}, {}, {}
do
  local live, texts = {}, {}
  for _, i in ipairs(old) do
    if known[i] > 0 then
      live[#live + 1] = text(known[i])
    elseif known[i] <= -10 and mode == MODE_AGAIN then
      texts[#texts + 1] = text(-known[i] - 10)
    end
  end
  spots = spots_of(live)
  if mode == MODE_AGAIN then
    for _, id in ipairs(live) do
      if spots[id].state == DEAD then texts[#texts + 1] = id end
    end
  end
  for j, body in ipairs(hmget(P .. 'e', texts)) do
    if not body then error('URLSIEVE broken: no text of entry ' .. texts[j]) end
    bodies[texts[j]] = body
    local _, _, _, grp = su(BODY, body)
    groups[#groups + 1] = grp
  end
  for _, spot in pairs(spots) do groups[#groups + 1] = spot.grp end
  if mode ~= MARK_KNOWN then
    for _, list in ipairs({fresh, old}) do
      for _, i in ipairs(list) do groups[#groups + 1] = sub(ARGV[first_tail + i], 17, 24) end
    end
  end
  load_groups(groups)
end

-- who may come in: the sites' limits and the high-water mark hold for what is accepted for the first time
local waiting, refused = tonumber(ARGV[6]) + n.pending + n.delayed, {}
local coming, have = {}, {} -- per site half: in this call, and before
local function accepted_of(site)
  if not have[site.half] then have[site.half] = call('HLEN', P .. 'f' .. site.half) - site.known end
  return have[site.half] + (coming[site.half] or 0)
end
local limits = #ARGV >= first_tail + many + 5
local profiles, others, used, came = {}, {}, {}, 0
if limits then
  local block = ARGV[first_tail + many + 3]
  for j = 1, #block / 96 do profiles[j] = {su('<dddddddddddd', block, 96 * j - 95)} end
  others = {su('<dddddd', ARGV[first_tail + many + 5])}
  local job, day = used_of_job(), used_today()
  used.job = {job[1] + others[1], job[2] + others[2], job[3] + others[3]}
  used.day = {day[1] + others[4], day[2] + others[5], day[3] + others[6]}
end
local function units_of(half)
  local domain = names[half .. 'd']
  local site, all = 's' .. half, 'd' .. domain
  if not used[site] then
    used[site] = used_of_sites({half})
    adopt(half, domain)
  end
  if not used[all] then used[all] = used_of_domain(domain) end
  return {used[site], used[all], used.job, used.day}
end
-- frontier.budget.refusal, restated
local function over(i, half)
  local profile, units = profiles[su('<H', ARGV[first_tail + many + 4], 2 * i - 1)], units_of(half)
  for unit = 1, 4 do
    local most = profile[3 * unit - 2]
    if most == most and units[unit][1] >= most then return V_LIMIT end
  end
  for unit = 1, 3 do
    for what = 2, 3 do
      local most = profile[3 * unit - 3 + what]
      if most == most and units[unit][what] >= most then return V_BUDGET end
    end
  end
end
local function refuse(i)
  local half = sub(fps, 16 * i - 15, 16 * i - 8)
  local site = S[half]
  local verdict
  if site and site.limit and accepted_of(site) >= site.limit then
    verdict = V_LIMIT
  elseif limits then
    verdict = over(i, half)
  end
  if not verdict and policy.high_water and mode ~= MARK_DONE then
    local _, priority = pushed(i)
    if is_full(priority, waiting, policy.high_water) then verdict = V_FULL end
  end
  if not verdict then
    coming[half] = (coming[half] or 0) + 1
    waiting = waiting + 1
    if limits then
      for _, one in ipairs(units_of(half)) do one[1] = one[1] + 1 end
      came = came + 1
    end
    return false
  end
  verdicts[i] = verdict
  refused[#refused + 1] = i
  return true
end
local taken = fresh
if mode ~= MARK_KNOWN then
  taken = {}
  for _, i in ipairs(fresh) do
    if not refuse(i) then taken[#taken + 1] = i end
  end
end

if #taken == 0 and #old == 0 and #refused == 0 and #marked == 0 then return {head(), string.rep(string.char(V_SEEN), many)} end
begin()

for _, i in ipairs(marked) do
  local fp = sub(fps, 16 * i - 15, 16 * i)
  local half = sub(fp, 1, 8)
  local site = ensure_site(half, names[half], names[half .. 'd'])
  if site.limit then accepted_of(site) end -- what it has accepted, before its count of known ones grows
  add('seen', 1)
  add('known', 1)
  mark(fp, '-1')
  only_known(fp, 1)
end

-- new ones
local first_id = n.entry
add('entry', #taken)
add('seen', #taken)
if mode == MARK_KNOWN then add('known', #taken) end
if mode == MARK_DONE then add('done', #taken) end
local stamp, texts, queued = sp('<Bd', 1, now), {}, 0
for j, i in ipairs(taken) do
  local id, fp = first_id + j, sub(fps, 16 * i - 15, 16 * i)
  local half = sub(fp, 1, 8)
  verdicts[i] = V_NEW
  ensure_site(half, names[half], names[half .. 'd'])
  if mode == MARK_KNOWN then
    mark(fp, '-1')
    only_known(fp, 1)
  else
    accept(half, 1)
    if mode ~= MARK_DONE or policy.keep_urls then
      texts[#texts + 1] = text(id)
      texts[#texts + 1] = stamp .. ARGV[first_tail + i]
      local grp, priority, due = pushed(i)
      ensure(grp, names[grp])
      if mode == MARK_DONE then
        mark(fp, with_text(id))
      else
        mark(fp, text(id))
        if due then
          enter({id = id, state = DELAYED, class = NEW, grp = grp, fp = fp, priority = priority, seq = id, since = now, attempt = 0,
            excused = 0, time = due, tail = ''})
        else
          queue_up(grp, NEW, priority, sp('>L', id))
          queued = queued + 1
        end
      end
    else
      mark(fp, '0')
    end
  end
end

add('pending', queued)
add(CLASS[NEW], queued)

-- What was pushed first and what is pushed now: URL, site and group stay as first found; a dead one has kept what came with it.
local TAIL = '<c16c8dddB'
local function parts(tail)
  local p = {}
  local at
  p.fp, p.grp, p.priority, p.depth, p.due, p.flags, at = su(TAIL, tail)
  local sizes = {}
  for i, bit in ipairs({2, 4, 8}) do
    sizes[i] = 0
    if math.floor(p.flags / bit) % 2 == 1 then sizes[i], at = su('<I', tail, at) end
  end
  for i = 1, 3 do
    p[i] = sub(tail, at, at + sizes[i] - 1)
    at = at + sizes[i]
  end
  p.url = sub(tail, at)
  return p
end
local function merge(body, new, was_dead)
  local first, again = parts(sub(body, 10)), parts(new)
  local flags, sizes, values = first.flags % 2, '', ''
  for i, bit in ipairs({2, 4, 8}) do
    local value = again[i] == '' and was_dead and first[i] or again[i]
    if value ~= '' then
      flags, sizes, values = flags + bit, sizes .. sp('<I', #value), values .. value
    end
  end
  return sp(TAIL, first.fp, first.grp, again.priority, again.depth, again.due, flags) .. sizes .. values .. first.url
end

-- Pending or delayed, with a new count of attempts, as the last to arrive. Its text and its group stay as first found.
local function return_to_queue(i, id, fp, body, class)
  local _, priority, due = pushed(i)
  local new, grp = ARGV[first_tail + i], sub(ARGV[first_tail + i], 17, 24)
  if body then
    _, _, _, grp = su(BODY, body)
    new = merge(body, new, class == RETRY)
  elseif by[i] then
    new = fp .. sub(new, 17)
  end
  texts[#texts + 1] = text(id)
  texts[#texts + 1] = stamp .. new
  ensure(grp, names[grp])
  enter({id = id, state = due and DELAYED or PENDING, class = class, grp = grp, fp = fp, priority = priority, seq = take('entry'),
    since = now, attempt = 0, excused = 0, time = due, tail = ''})
  mark(fp, text(id))
  return V_REQUEUED
end

local function undone(i, spot)
  local _, priority, due = pushed(i)
  if spot.state == PENDING or spot.state == DELAYED then
    local changes, lifted, new_due = lift(spot.state, spot.priority, spot.state == DELAYED and spot.time or nil, priority, due, now)
    if not changes then return V_SEEN end
    leave(spot)
    spot.priority, spot.time = lifted, new_due
    if spot.state == DELAYED and not new_due then
      spot.state, spot.seq, spot.since, spot.tail = PENDING, take('entry'), now, ''
    end
    enter(spot)
    return V_RAISED
  end
  if mode ~= MODE_AGAIN then return V_SEEN end
  if spot.state == DEAD then
    leave(spot)
    return return_to_queue(i, spot.id, spot.fp, bodies[text(spot.id)], RETRY)
  end
  local wanted = due or 0
  spot.again = spot.again and math.min(spot.again, wanted) or wanted
  spot.priority = math.max(spot.priority, priority)
  keep(spot)
  return V_REQUEUED
end

local function revive(i, fp, value)
  local class, id, body = REVISIT, nil, nil
  if value == -1 then
    if refuse(i) then return verdicts[i] end
    add('known', -1)
    only_known(fp, -1)
    accept(sub(fp, 1, 8), 1)
  elseif value == -2 then
    class = RETRY
    add('dead', -1)
  else
    add('done', -1)
    if value <= -10 then
      id = -value - 10
      body = bodies[text(id)]
    end
  end
  return return_to_queue(i, id or take('entry'), fp, body, class)
end

for _, i in ipairs(old) do
  local fp, value = by[i] or sub(fps, 16 * i - 15, 16 * i), known[i]
  if value > 0 then
    verdicts[i] = undone(i, spots[text(value)])
  elseif mode == MODE_AGAIN then
    verdicts[i] = revive(i, fp, value)
  end
end
spread('HSET', P .. 'e', texts)

-- equals of one that was refused are refused too, not seen
if #refused > 0 then
  local counted = {}
  for i = 1, many do
    local first = firsts[by[i] or sub(fps, 16 * i - 15, 16 * i)]
    local reason = REFUSALS[verdicts[first]]
    if reason then
      verdicts[i] = verdicts[first]
      counted[reason] = (counted[reason] or 0) + 1
    end
  end
  local fields = {}
  for reason, count in pairs(counted) do fields[reason] = tally('rejected', reason, count) end
  for at = math.max(1, #refused - MOST_EXAMPLES + 1), #refused do
    local i = refused[at]
    example(fields[REFUSALS[verdicts[i]]], ARGV[first_tail + i])
  end
end
if came > 0 then use_today(came, 0, 0) end
finish()
local answer = {}
for from = 1, many, 1000 do answer[#answer + 1] = string.char(unpack(verdicts, from, math.min(from + 999, many))) end
return {head(), table.concat(answer)}
