-- A slice of one site's marks. 4 site half, 5 cursor, 6 how many about. head, next cursor, then per URL: half, mark, state (as text).
local found = call('HSCAN', P .. 'f' .. ARGV[4], ARGV[5], 'COUNT', ARGV[6])
local pairs_of, ids, out = found[2], {}, {}
for i = 1, #pairs_of, 2 do
  local value = tonumber(pairs_of[i + 1])
  if value > 0 then ids[#ids + 1] = text(value) end
end
local states = {}
for i, raw in ipairs(hmget(P .. 's', ids)) do states[ids[i]] = raw and string.byte(raw) or PENDING end
for i = 1, #pairs_of, 2 do
  local mark_of = pairs_of[i + 1]
  local value = tonumber(mark_of)
  local state = value > 0 and states[mark_of] or value == -1 and 9 or value == -2 and DEAD or DONE
  out[#out + 1] = pairs_of[i]
  out[#out + 1] = mark_of
  out[#out + 1] = state
end
return {head(), found[1], out}
