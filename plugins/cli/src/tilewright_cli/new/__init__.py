"""`tilewright new`: plugins written from templates."""
