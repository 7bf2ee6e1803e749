-- head; with groups from 4 on, per group: false, or its record; when the first delayed URL is due or lease expires ("" never).
local found, ids = {}, {}
for i = 4, #ARGV do ids[i - 3] = ARGV[i] end
for i, raw in ipairs(hmget(P .. 'g', ids)) do found[i] = raw end
local due, expires = first_score('due'), first_score('exp')
local later = due and expires and math.min(due, expires) or due or expires
return {head(), found, later and string.format('%.17g', later) or ''}
