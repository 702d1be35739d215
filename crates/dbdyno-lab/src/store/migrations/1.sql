-- From version 1 to 2: a run is measured by us or published by others.
ALTER TABLE run ADD COLUMN kind TEXT NOT NULL DEFAULT 'measured' CHECK (kind IN ('measured', 'published'));
