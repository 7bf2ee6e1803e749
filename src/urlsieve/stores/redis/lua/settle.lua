-- 4 id of the call, 5 "1" if it may have been done already, 6 for how long its answer is kept (ms), 7 "1": clean, 8 generation of the
-- policy it was decided under, 9 of the rules under which redirect targets were named ("": there are none), 10 how many health changes,
-- then group and change of each, then the changes, each in two: packed, reason ‖ what a skip is counted under.
-- head, flags: one byte each (1 applied, 0 lost, 2 outdated).
local CHANGE, HEALTH = '<dc24BdBIIdddHdd', '<IIBc16BIdd'
local LOST, APPLIED, OUTDATED = 0, 1, 2
local clean = ARGV[7] == '1'
if ARGV[5] == '1' then
  local before = call('GET', P .. 'a' .. ARGV[4])
  if before then return {head(), before} end
end
local first = 10 + 2 * ARGV[10]
local many = (#ARGV - first) / 2
local function outdated() return {head(), string.rep(string.char(OUTDATED), many)} end
if tonumber(ARGV[8]) ~= n.pgen or (ARGV[9] ~= '' and tonumber(ARGV[9]) < n.rgen) then return outdated() end

-- reading
local ids, changes = {}, {}
for i = 1, many do
  local c = {}
  local due, failed, again, reason
  c.id, c.stamp, c.state, due, c.class, c.attempt, c.excused, failed, c.turn, again, reason, c.pages, c.size = su(CHANGE, ARGV[first + 2 * i - 1])
  c.due, c.failed, c.again = some(due), some(failed), some(again)
  c.reason, c.counted = sub(ARGV[first + 2 * i], 1, reason), sub(ARGV[first + 2 * i], reason + 1)
  changes[i] = c
  ids[i] = text(c.id)
end
local raws, groups, given = hmget(P .. 's', ids), {}, {}
for i, c in ipairs(changes) do
  local s = raws[i] and spot_of(c.id, raws[i])
  if s and s.state == LEASED and s.tail == c.stamp and not given[c.id] then
    given[c.id] = true -- a token given twice settles once
    -- asked for again since the decision? The two are the same moment seen by two clocks, if anything.
    if (s.again == nil) ~= (c.again == nil) then return outdated() end
    if s.again and s.again ~= c.again and (s.again == 0 or c.again == 0 or math.abs(s.again - c.again - shift) > 1) then return outdated() end
    c.spot = s
    groups[#groups + 1] = s.grp
  end
end
for i = 11, first, 2 do groups[#groups + 1] = ARGV[i] end
load_groups(groups)
for i = 11, first, 2 do
  local g = group(ARGV[i])
  if not g or g.version ~= su('<I', ARGV[i + 1]) then return outdated() end
end
if clean then
  for _, id in ipairs(groups) do
    local g = group(id)
    if g.delay or g.failures > 0 or g.blocks > 0 then return outdated() end
  end
end

begin(true)
local function ahead(time) return time and time + shift end
for i = 11, first, 2 do
  local g = group(ARGV[i])
  local version, failures, has, url, several, blocks, blocked, ok = su(HEALTH, ARGV[i + 1])
  g.version, g.failures, g.failed_url, g.several, g.blocks = version + 1, failures, has == 1 and url or '', several == 1, blocks
  g.blocked, g.ok = blocked ~= 0 and blocked + shift or 0, ok ~= 0 and ok + shift or 0
  touch(g)
end
local flags, gone, leases, skipped, fields = {}, {}, {}, {}, {}
local fetched, paid = {}, false
for i, c in ipairs(changes) do
  local s = c.spot
  flags[i] = s and APPLIED or LOST
  if s then
    local g = group(s.grp)
    leases[#leases + 1] = member(s)
    add('leased', -1)
    g.leased = g.leased - 1
    touch(g)
    if c.pages > 0 or c.size > 0 then
      local half = sub(s.fp, 1, 8)
      local sum = fetched[half] or {0, 0}
      fetched[half] = {sum[1] + c.pages, sum[2] + c.size}
      paid = true
    end
    if c.state == PENDING and c.reason ~= '' then sleep_group(g, c.reason) end
    if c.turn > 0 then
      g.turn = math.max(g.turn, c.turn + shift)
    elseif c.turn < 0 then -- the turn that this lease took, if the group has had none since; a thousandth for rounding
      if g.turn <= s.time + c.turn + delay_of(g) + 0.001 then g.turn = 0 end
    end
    if c.counted ~= '' then
      skipped[#skipped + 1] = text(s.id)
      fields[#skipped] = tally('skipped', c.counted, 1)
    end
    if c.state == DONE then
      gone[#gone + 1] = text(s.id)
      mark(s.fp, policy.keep_urls and with_text(s.id) or '0')
      add('done', 1)
    else
      s.state, s.class, s.attempt, s.excused, s.failed, s.again = c.state, c.class, c.attempt, c.excused, ahead(c.failed), nil
      s.time = c.state == DELAYED and ahead(c.due) or c.state == DEAD and now or nil
      s.tail = c.state == PENDING and '' or c.reason
      enter(s)
      if c.state == DELAYED and sub(c.reason, 1, #SPENT) == SPENT then sleep_url(s) end
    end
  end
end
for from = math.max(1, #skipped - MOST_EXAMPLES + 1), #skipped do
  local body = call('HGET', P .. 'e', skipped[from])
  if body then example(fields[from], sub(body, 10)) end
end
if paid then use(fetched) end
spread('ZREM', P .. 'exp', leases)
spread('HDEL', P .. 's', gone)
if not policy.keep_urls then spread('HDEL', P .. 'e', gone) end
finish()
local answer = {}
for from = 1, many, 1000 do answer[#answer + 1] = string.char(unpack(flags, from, math.min(from + 999, many))) end
answer = table.concat(answer)
call('SET', P .. 'a' .. ARGV[4], answer, 'PX', ARGV[6])
return {head(), answer}
