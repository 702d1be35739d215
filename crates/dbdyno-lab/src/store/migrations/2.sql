-- From version 2 to 3: a run may also be of plain scripts.
ALTER TABLE run RENAME COLUMN kind TO former_kind;
ALTER TABLE run ADD COLUMN kind TEXT NOT NULL DEFAULT 'measured' CHECK (kind IN ('measured', 'published', 'scripts'));
UPDATE run SET kind = former_kind;
ALTER TABLE run DROP COLUMN former_kind;
