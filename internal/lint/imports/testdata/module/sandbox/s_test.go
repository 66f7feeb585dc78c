package sandbox

import (
	_ "ratchet/sandbox/docker" // tests use the real parts

	_ "go.temporal.io/server/temporal"
)
