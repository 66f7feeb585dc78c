// Package patch is a leaf that imports another.
package patch

import (
	_ "go.temporal.io/sdk/workflow"

	_ "ratchet/sandbox"
)
