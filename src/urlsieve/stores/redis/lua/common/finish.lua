-- The end of a script that writes: everything that collected is written, in few strokes.

-- Everything that collected is written. May be called more than once.
local function finish()
  for _, site in ipairs(mark_sites) do spread('HSET', P .. 'f' .. site, marks[site]) end
  marks, mark_sites = {}, {}
  if #site_order > 0 then
    local pairs_of = {}
    for i, site in ipairs(site_order) do
      pairs_of[2 * i - 1] = site.half
      pairs_of[2 * i] = sp(SITE, orNone(site.limit), site.known) .. site.name
      site.touched = false
    end
    spread('HSET', P .. 'i', pairs_of)
    site_order = {}
  end
  count_domains()
  spread('HSET', P .. 's', spot_writes)
  spot_writes = {}
  for _, key in ipairs(arriving_keys) do spread('ZADD', key, arriving[key]) end
  arriving, arriving_keys = {}, {}
  local records = {}
  for _, g in ipairs(dirty) do
    for class = 1, 3 do
      if g.heads[class] then
        local head = call('ZRANGE', queue_of(class - 1, g.id), 0, 0, 'WITHSCORES')
        g.tops[class] = head[2] and -tonumber(head[2]) or nil
        g.heads[class] = nil
      end
    end
    put(g)
    g.touched = false
    records[#records + 1] = g.id
    records[#records + 1] = packed(g)
  end
  spread('HSET', P .. 'g', records)
  dirty = {}
  if changed then
    local values = {}
    for i, name in ipairs(NAMES) do values[i] = n[name] end
    call('SET', KEYS[1], sp(COUNTERS, unpack(values)) .. policy_text)
    changed = false
  end
end
