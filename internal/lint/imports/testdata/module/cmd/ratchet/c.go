package ratchet
