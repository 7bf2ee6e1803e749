-- Entries as another store had them: 4 rules generation of the caller ("": any), 5 fingerprints in one block, 6 how many names, then hash
-- and name of each site and group, then per entry two: spot (state 9: known; seq is not looked at) with its reason, and what was pushed
-- ("" without text). head, verdicts; false: the caller's rules are old, and nothing was done.
local SEEN, TAKEN, KNOWN = 0, 1, 9
if ARGV[4] ~= '' and tonumber(ARGV[4]) < n.rgen then return {head(), false} end
local fps, names = ARGV[5], {}
for i = 7, 6 + 2 * ARGV[6], 2 do names[ARGV[i]] = ARGV[i + 1] end
local first = 6 + 2 * ARGV[6]
local many, known, verdicts, firsts, halves, groups = #fps / 16, known_of(fps), {}, {}, {}, {}
for i = 1, many do
  local fp = sub(fps, 16 * i - 15, 16 * i)
  verdicts[i] = SEEN
  if not known[i] and not firsts[fp] then
    firsts[fp] = true
    verdicts[i] = TAKEN
    halves[#halves + 1] = sub(fp, 1, 8)
    groups[#groups + 1] = sub(ARGV[first + 2 * i - 1], 3, 10)
  end
end
if #halves == 0 then return {head(), string.rep('\0', many)} end
load_sites(halves)
load_groups(groups)
begin()
local texts = {}
for i = 1, many do
  if verdicts[i] == TAKEN then
    local id, body, s = take('entry'), ARGV[first + 2 * i], nil
    s = spot_of(id, ARGV[first + 2 * i - 1])
    local half = sub(s.fp, 1, 8)
    ensure_site(half, names[half], names[half .. 'd'])
    add('seen', 1)
    if names[s.grp] and names[s.grp] ~= '' and s.state ~= KNOWN then ensure(s.grp, names[s.grp]) end
    local has_text = body ~= '' and (s.state ~= DONE or policy.keep_urls) and s.state ~= KNOWN
    if s.state == KNOWN then
      add('known', 1)
      only_known(s.fp, 1)
      mark(s.fp, '-1')
    else
      accept(half, 1)
      s.seq, s.since = id, s.since == s.since and s.since + shift or now
      s.failed, s.again = s.failed and s.failed + shift, nil
      if has_text then
        texts[#texts + 1] = text(id)
        texts[#texts + 1] = sp('<Bd', 1, s.since) .. body
      end
      if s.state == DONE then
        add('done', 1)
        mark(s.fp, has_text and with_text(id) or '0')
      elseif not has_text then
        add('dead', 1)
        mark(s.fp, '-2')
      else
        s.time = (s.state == DELAYED or s.state == DEAD) and (s.time and s.time + shift or now) or nil
        mark(s.fp, text(id))
        enter(s)
      end
    end
  end
end
spread('HSET', P .. 'e', texts)
finish()
return {head(), string.char(unpack(verdicts))}
