package names

import "strings"

// Quote puts source between backquotes as hypotheses cite it: on one line, its
// first 60 characters at most.
func Quote(source string) string {
	const most = 60
	line := []rune(strings.Join(strings.Fields(source), " "))
	if len(line) > most {
		return "`" + string(line[:most]) + "…`"
	}
	return "`" + string(line) + "`"
}
