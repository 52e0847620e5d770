-- The occurrence that a fact is about: those of kind 'doubled' had it in their detail,
-- "the occurrence of 2026-11-20T12:03:00.5Z ran on elm too, as run 7".
ALTER TABLE record ADD COLUMN due INTEGER; -- NULL: none
UPDATE record SET detail = substr(detail, instr(detail, 'Z ran on ') + 2),
        due = unixepoch(substr(detail, 19, 19)) * 1000000000
            + CAST(substr(substr(detail, 39, max(0, instr(detail, 'Z ran on ') - 39)) || '000000000', 1, 9) AS INTEGER)
    WHERE kind = 'doubled' AND detail GLOB 'the occurrence of ????-??-??T??:??:??*Z ran on *';
