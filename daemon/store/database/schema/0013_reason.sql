-- Reasons that were renamed once, before the list was frozen.
UPDATE run SET reason = CASE reason WHEN 'made-up' THEN 'caught-up' WHEN 'ran-after-place' THEN 'ran-after-slot'
    WHEN 'waits-for-place' THEN 'waits-for-slot' WHEN 'handed-on' THEN 'handed-over' ELSE 'no-user' END
    WHERE reason IN ('made-up', 'ran-after-place', 'waits-for-place', 'handed-on', 'no-account');
UPDATE occurrence SET reason = CASE reason WHEN 'made-up' THEN 'caught-up' WHEN 'ran-after-place' THEN 'ran-after-slot'
    WHEN 'waits-for-place' THEN 'waits-for-slot' WHEN 'handed-on' THEN 'handed-over' ELSE 'no-user' END
    WHERE reason IN ('made-up', 'ran-after-place', 'waits-for-place', 'handed-on', 'no-account');
