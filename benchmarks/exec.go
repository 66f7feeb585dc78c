package benchmarks

import "fmt"

// KindExec scores what a command prints for given inputs.
const KindExec = "exec"

func newExecSuite(c Config) (Suite, error) {
	return nil, fmt.Errorf("suite %q: %w: kind exec is being built", c.Name, ErrConfig)
}
