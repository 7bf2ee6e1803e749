-- 4 for how long, then the id and stamp of each token in one block of 32 bytes. head, flags: 1 extended, 0 lost.
local ttl, tokens = tonumber(ARGV[4]), ARGV[5]
local ids, stamps = tokens_in(tokens)
local flags, scores = {}, {}
for i, raw in ipairs(hmget(P .. 's', ids)) do
  local s = raw and spot_of(tonumber(ids[i]), raw)
  flags[i] = s and s.state == LEASED and s.tail == stamps[i] and 1 or 0
  if flags[i] == 1 then
    s.time = math.max(s.time, now + ttl)
    scores[#scores + 1] = string.format('%.17g', s.time)
    scores[#scores + 1] = member(s)
    keep(s)
  end
end
if #scores > 0 then
  begin(true)
  spread('ZADD', P .. 'exp', scores)
  finish()
end
return {head(), string.char(unpack(flags))}
