// Package workers imports the command line.
package workers

import (
	_ "ratchet/cmd/ratchet"
	_ "ratchet/workflows"
)
