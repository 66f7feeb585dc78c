// Package benchmarks knows one implementation of the contract.
package benchmarks

import (
	_ "ratchet/sandbox"
	_ "ratchet/sandbox/docker"
)
