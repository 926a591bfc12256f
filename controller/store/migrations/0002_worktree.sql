-- Which worktree the newest lease is for: a holder that was taken over may still be alive in his.
ALTER TABLE run ADD COLUMN worktree INTEGER NOT NULL DEFAULT 0;
