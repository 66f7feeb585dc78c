package docker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

const passing = "import subprocess\n\ndef test_shell():\n    assert subprocess.check_output('echo hello | tr h j', shell=True) == b'jello\\n'\n"

func TestHostPythonRunsTestsOffline(t *testing.T) {
	e := engine(t)
	img, _ := prepare(t, e, Target{Image: HostPython})
	files := []model.File{text("test_m.py", passing)}
	for _, argv := range [][]string{
		{"python3", "-m", "pytest", "-q", "--timeout=20"}, {"pytest", "-q"},
		{"coverage", "run", "-m", "pytest", "-q"}, {"python", "-c", "import ctypes.util as u, ssl, sqlite3, zoneinfo; u.find_library('c') or 1/0; zoneinfo.ZoneInfo('Europe/Paris')"},
	} {
		o := in(t, e, img, files, argv...)
		require.True(t, o.OK(), "%v: %s%s", argv, o.Stdout, o.Stderr)
	}
}
