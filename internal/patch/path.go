package patch

import (
	"io/fs"
	"strings"
	"unicode"

	"ratchet/internal/model"
)

// Untouchable says why no patch of base can touch a path, or "" when one can: it
// is a BadPath, or it is a symbolic link or leads through one.
func Untouchable(base model.Tree, path string) string {
	if why := BadPath(path); why != "" {
		return why
	}
	return linkOnTheWay(base, path)
}

// BadPath says why a path cannot be edited, or "" when it can. A path must be
// clean, relative and made of names that mean the same file on every system:
// what some file systems fold into .git is refused everywhere.
func BadPath(path string) string {
	if path == "" || path == "." || !fs.ValidPath(path) {
		return "it is not a clean relative path"
	}
	for _, part := range strings.Split(path, "/") {
		if why := badPart(part); why != "" {
			return why
		}
	}
	return ""
}

// maxPart is the longest name that common file systems store, in bytes.
const maxPart = 255

func badPart(part string) string {
	if len(part) > maxPart {
		return "a part of it is too long"
	}
	for _, r := range part {
		switch {
		case unicode.IsControl(r):
			return "it contains a control character"
		case r == '\\' || r == ':':
			return `it contains \ or :, which some systems take for separators`
		}
	}
	if isDotGit(part) {
		return "a part of it stands for .git"
	}
	if strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
		return "a part of it ends with a dot or a space, which some systems drop"
	}
	return ""
}

// isDotGit recognises .git in the disguises that git itself refuses: case,
// trailing dots and spaces, NTFS short names, and code points that HFS+ ignores.
func isDotGit(part string) bool {
	folded := strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, part)
	folded = strings.TrimRight(strings.ToLower(folded), ". ")
	if folded == ".git" {
		return true
	}
	short, ok := strings.CutPrefix(folded, "git~")
	return ok && short != "" && strings.Trim(short, "0123456789") == ""
}

// ignoredByHFS lists the code points that HFS+ leaves out when it compares
// names; see next_hfs_char in git's utf8.c.
func ignoredByHFS(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}
