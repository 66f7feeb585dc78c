package main

import "testing"

func TestForkChecksTheNameFirst(t *testing.T) {
	c := newCLI(t)
	c.fails(exitUsage, []string{`fork campaign demo: --as: "bad name" is no name of a campaign`, "lower-case letters, digits and hyphens"},
		"campaign", "fork", "demo", "--from", "abcd", "--as", "bad name")
}
