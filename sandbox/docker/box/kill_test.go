package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcessesAreReadAsTheKernelWritesThem(t *testing.T) {
	const text = "Name:\tPPid: 0\nState:\tZ (zombie)\nTgid:\t7\nPid:\t7\nPPid:\t0\nUid:\t65534\t1\t2\t3\nThreads:\t2\n"
	p := readStatus(text)
	require.Equal(t, process{parent: "0", user: "65534", state: "Z", threads: "2"}, p)
	require.True(t, p.helper())
	require.True(t, p.alive(), "a thread is left")
	p.threads = "1"
	require.False(t, p.alive())

	own, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	p = readStatus(string(own))
	require.Equal(t, strconv.Itoa(os.Getuid()), p.user)
	require.Equal(t, strconv.Itoa(os.Getppid()), p.parent)
	require.True(t, p.alive())
}
