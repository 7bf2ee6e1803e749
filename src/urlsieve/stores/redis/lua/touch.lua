-- A newer policy, rules generation or epoch reaches the shard. head.
if changed then
  begin(true)
  finish()
end
return {head()}
