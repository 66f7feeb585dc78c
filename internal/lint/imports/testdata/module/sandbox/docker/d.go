// Package docker may know Docker.
package docker

import (
	_ "github.com/docker/docker/client"

	_ "ratchet/sandbox"
)
