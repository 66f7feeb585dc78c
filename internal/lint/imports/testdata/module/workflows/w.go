// Package workflows does input and output, which it must not.
package workflows

import (
	_ "net/http"
	_ "os"
	_ "strings"

	_ "ratchet/internal/model"
	_ "ratchet/internal/protocol"
	_ "ratchet/internal/stranger"
	_ "ratchet/sandbox"
)
