// Package patch is a leaf that imports another.
package patch

import (
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "go.temporal.io/sdk/workflow"

	_ "ratchet/sandbox"
)
