// Package sandbox knows Docker, which only its folder docker may.
package sandbox

import (
	_ "github.com/docker/docker/client"

	_ "ratchet/internal/model"
)
