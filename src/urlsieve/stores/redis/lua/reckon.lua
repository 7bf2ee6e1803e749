-- 4 site halves and their domains in turn: sites that are there already are told apart by them. head.
begin()
for i = 4, #ARGV, 2 do told[ARGV[i]] = ARGV[i + 1] end
finish()
return {head()}
