-- 4 key; set: 5 value, 6 for how long; delete: 5 "" and 6 "". head, value. One shared copy, with its time to live.
local key = P .. 'b' .. ARGV[4]
if ARGV[6] == nil then
  local value = call('GET', key)
  return {head(), value and su('<d', value) > now and sub(value, 9)}
end
if ARGV[6] == '' then
  begin(true)
  call('UNLINK', key)
else
  begin()
  local ttl = tonumber(ARGV[6])
  call('SET', key, sp('<d', now + ttl) .. ARGV[5])
  if shift ~= 0 or ARGV[2] ~= '1' then call('PEXPIRE', key, text(math.max(1, math.min(ttl * 1000, 2 ^ 50)))) end
end
return {head(), false}
