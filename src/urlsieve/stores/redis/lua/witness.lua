-- Lines about fetched pages, of this shard: a version, then the lines, oldest first. The version changes whenever something else happens
-- to them than that lines are added. Lines are not worth an error: a server without memory keeps none.
-- add: 4 "add", 5 lines, 6 bytes that fit: beyond, the older half goes. fold: 4 "fold", 5 version, 6 length: what was read becomes 7.
-- head, 1 if it was done.
local key = P .. 'y'
local function attempt(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err and not string.find(answer.err, 'OOM', 1, true) then error(answer.err) end
  return type(answer) ~= 'table' or answer.ok ~= nil
end
if ARGV[4] == 'fold' then
  local have = call('GET', key)
  if not have or su('<d', have) ~= tonumber(ARGV[5]) then return {head(), 0} end
  local version = su('<d', have) + 1
  return {head(), attempt('SET', key, sp('<d', version) .. ARGV[7] .. sub(have, 9 + ARGV[6])) and 1 or 0}
end
local most = tonumber(ARGV[6])
if call('EXISTS', key) == 0 then attempt('SET', key, sp('<d', 0)) end
if call('EXISTS', key) == 1 and attempt('APPEND', key, ARGV[5]) and call('STRLEN', key) > most + 8 then
  local version = su('<d', call('GETRANGE', key, 0, 7)) + 1
  local newer = call('GETRANGE', key, -math.floor(most / 2), -1)
  attempt('SET', key, sp('<d', version) .. sub(newer, (string.find(newer, '\n', 1, true) or #newer) + 1))
end
return {head(), 1}
