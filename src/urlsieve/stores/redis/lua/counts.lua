-- head, counters, reasons, oldest pending ("" none; caller's time), "1" if not all were looked at.
local AMONG, MOST_STEPS = 500, 5000
local oldest, steps, sampled = nil, 0, false
for _, key in ipairs({'line', 'wake', 'held'}) do
  local groups = call('ZRANGE', P .. key, 0, AMONG - 1)
  sampled = sampled or #groups == AMONG
  for _, id in ipairs(groups) do
    for class = 0, 2 do
      local queue, from = queue_of(class, id), '-inf'
      while steps < MOST_STEPS do -- the first of each priority
        local first = call('ZRANGEBYSCORE', queue, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
        if #first == 0 then break end
        steps = steps + 1
        from = '(' .. first[2]
        local entry = text(id_in(first[1]))
        local since = spots_of({entry})[entry].since
        if not oldest or since < oldest then oldest = since end
      end
    end
  end
end
return {head(), call('GET', KEYS[1]), call('HGETALL', P .. 't'), oldest and string.format('%.17g', oldest - shift) or '',
  (sampled or steps == MOST_STEPS) and '1' or '0'}
