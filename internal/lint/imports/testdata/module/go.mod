module ratchet

go 1.26
