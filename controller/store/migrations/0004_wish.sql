-- What the user wants of the controller that is at work: empty, pause or stop.
ALTER TABLE run ADD COLUMN wish TEXT NOT NULL DEFAULT '';
