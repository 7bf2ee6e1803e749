-- Groups by name or by cursor. 4 cursor ("" for the groups that follow), 5 how many about. head, next cursor, then per group: hash,
-- record, pending URLs.
local cursor, pairs_of, out = '0', {}, {}
if ARGV[4] == '' then
  for i = 6, #ARGV do
    local raw = call('HGET', P .. 'g', ARGV[i])
    if raw then pairs_of[#pairs_of + 1] = ARGV[i]; pairs_of[#pairs_of + 1] = raw end
  end
else
  cursor, pairs_of = unpack(call('HSCAN', P .. 'g', ARGV[4], 'COUNT', ARGV[5]))
end
for i = 1, #pairs_of, 2 do
  local many = 0
  for class = 0, 2 do many = many + call('ZCARD', queue_of(class, pairs_of[i])) end
  out[#out + 1] = pairs_of[i]
  out[#out + 1] = pairs_of[i + 1]
  out[#out + 1] = many
end
return {head(), cursor, out}
