package quality_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ratchet/internal/llm/quality"
)

const block = "calc.py\n<<<<<<< SEARCH\nreturn a - b\n=======\nreturn a + b  # I cannot help with subtraction\n>>>>>>> REPLACE\n"

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, text, gate string
	}{
		{"nothing", "", quality.Empty},
		{"white space", " \n\t\n", quality.Empty},
		{"only thoughts", "<think>Let me see the function first.</think>\n", quality.Empty},
		{"thoughts without an end", "<think>Let me see the function first, it adds.", quality.Empty},
		{"empty fence", "```python\n\n```", quality.Empty},
		{"empty JSON", `{"edits": []}`, quality.Empty},
		{"fenced empty JSON", "```json\n{}\n```", quality.Empty},
		{"dashes", "---", quality.Empty},

		{"cannot help", "I can't help with that.", quality.Refusal},
		{"typographic", "I’m sorry, but I can’t assist with that request.", quality.Refusal},
		{"cannot", "I cannot provide a fix for this repository.", quality.Refusal},
		{"unable", "Unfortunately, I am unable to modify files that I do not see.", quality.Refusal},
		{"not able", "I'm not able to complete this task.", quality.Refusal},
		{"will not", "I won't make changes to the authentication code.", quality.Refusal},
		{"decline", "I must decline.", quality.Refusal},
		{"AI", "As an AI language model, I don't have access to your files.", quality.Refusal},
		{"guidelines", "Changing this code goes against my guidelines.", quality.Refusal},
		{"in JSON", `{"edits": [], "reason": "I'm sorry, but I cannot help with this."}`, quality.Refusal},
		{"beside code", "I cannot fix this. The code is:\n```python\nprint(1)\n```", quality.Refusal},

		{"eager", "Sure! Here is the fixed code:", quality.Boilerplate},
		{"closing", "Let me know if you have any questions! I hope this helps.", quality.Boilerplate},
		{"helper", "How can I help you today?", quality.Boilerplate},

		{"one word", "Done", quality.Short},
		{"a name", "calc.py", quality.Short},

		{"bare", "```python\ndef add(a, b):\n    return a + b\n```", quality.BareFence},
		{"bare and eager", "Sure! Here is the corrected version:\n```\nreturn a + b\n```\nHope this helps!", quality.BareFence},
		{"bare without an end", "```go\nfunc add() {}", quality.BareFence},

		{"edit with the words in a comment", block, ""},
		{"edit after the words", "I cannot be sure that this is all, I can't fix the tests.\n" + block, ""},
		{"edit after thoughts", "<think>I cannot help it.</think>\n" + block, ""},
		{"one line", "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE", ""},
		{"diff", "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-x\n+y\n", ""},
		{"hunk alone", "@@ -1,2 +1,2 @@\n-x\n+y\n", ""},
		{"patch", "*** Begin Patch\n*** Update File: x.py\n", ""},
		{"JSON edits", `{"edits": [{"path": "x.py", "search": "I cannot help", "replace": "y"}]}`, ""},
		{"fenced JSON edits", "```json\n{\"edits\": [{\"path\": \"x.py\", \"search\": \"a\", \"replace\": \"b\"}]}\n```", ""},
		{"fence that names the file", "```python calc.py\nreturn a + b\n```", ""},
		{"file before the fence", "calc.py\n```python\nreturn a + b\n```", ""},
		{"finding", "The parser cannot handle tabs: `split` is called with a blank, so the second field is lost.", ""},
		{"quoted words", "The message `I'm sorry, I can't do that` is wrong: it should name the file.", ""},
		{"words in a fence", "The test prints this in errors.py and should not:\n```\nI'm sorry, but I cannot help with that.\n```", ""},
		{"hypothesis in JSON", `{"hypothesis": "The loop ends one element early."}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := quality.Check(c.text)
			switch {
			case c.gate == "" && got != nil:
				t.Errorf("refused: %v", got)
			case c.gate != "" && got == nil:
				t.Errorf("let through, want %s", c.gate)
			case got != nil && got.Gate != c.gate:
				t.Errorf("gate %q (%v), want %q", got.Gate, got, c.gate)
			}
		})
	}
}

func TestReasonIsOneShortLine(t *testing.T) {
	err := quality.Check("I cannot help with this\nand " + strings.Repeat("never will ", 50))
	if err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 || !strings.Contains(err.Error(), "cannot help") {
		t.Errorf("reason %q", err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"", block, "I can't help", "```\nx\n```", `{"edits":[{"a":"b"}]}`, "<think>", "~~~\n```\n~~~", "[[[{}]]]", "`a` ``` `b`", "Sure!\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := quality.Check(text)
		if got != nil && (got.Gate == "" || !utf8.ValidString(got.Error()) || strings.Contains(got.Error(), "\n")) {
			t.Errorf("reason %q", got.Error())
		}
		if with := quality.Check(text + "\n```\n~~~\n" + block); strings.Contains(text, "think") {
			return
		} else if with != nil && with.Gate == quality.Refusal {
			t.Errorf("an edit was taken for a refusal: %v", with)
		}
	})
}
