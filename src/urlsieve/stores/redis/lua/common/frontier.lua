-- The rules about places and about what an offer or an expired lease makes of a URL, restated from urlsieve.frontier: turn.place,
-- turn.next_class, admit.is_full, admit.lift, admit.expire. tests/unit/stores/redis/test_rules.py holds the two against each other.

local PENDING, LEASED, DELAYED, DONE, DEAD = 0, 1, 2, 3, 4
local NEW, RETRY, REVISIT = 0, 1, 2
local IDLE, READY, WAITING, HELD = 0, 1, 2, 3

-- place; then when (WAITING), or how many may be given now (READY; nil: any number)
local function place(waiting, paused, next_turn, blocked_until, half_open, leased, concurrency, delay, now)
  if not waiting then return IDLE end
  if paused then return HELD end
  local wake = math.max(next_turn, blocked_until)
  if wake > now then return WAITING, wake end
  local room = (half_open or delay > 0) and 1 or nil
  if half_open then concurrency = 1 end
  if concurrency then
    if leased >= concurrency then return HELD end
    room = math.min(room or concurrency - leased, concurrency - leased)
  end
  return READY, nil, room
end

-- order: the turns' classes, one byte each; waiting[class + 1]: has it work? Class and the next position.
local function next_class(position, order, waiting)
  for step = 0, #order - 1 do
    local class = string.byte(order, (position + step) % #order + 1)
    if waiting[class + 1] then return class, (position + step + 1) % #order end
  end
  for class = 0, 2 do
    if waiting[class + 1] then return class, position end
  end
end

-- high_water nil: no mark
local function is_full(priority, waiting, high_water)
  if not high_water then return false end
  return waiting >= (priority <= 0 and high_water or high_water * 1.25)
end

-- Whether a raise changes anything; the new priority; when it is due (nil: pending). due, new_due: nil where there is none.
local function lift(state, priority, due, new_priority, new_due, now)
  local wanted = new_due and new_due > now and new_due or nil
  local sooner = state == DELAYED and (wanted == nil or (due ~= nil and wanted < due))
  if new_priority <= priority and not sooner then return false end
  if sooner then due = wanted end
  return true, math.max(priority, new_priority), due
end

-- state, class, attempt, due. again: nil where nobody asked for it meanwhile.
local function expire(class, attempt, again, max_attempts, now)
  if again then
    if again > now then return DELAYED, REVISIT, 0, again end
    return PENDING, REVISIT, 0
  end
  if attempt >= max_attempts then return DEAD, class, attempt end
  return PENDING, class == NEW and RETRY or class, attempt
end
