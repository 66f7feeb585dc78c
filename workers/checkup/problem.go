package checkup

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"ratchet/activities"
	"ratchet/internal/doctor"
	"ratchet/internal/llm"
	"ratchet/internal/repo"
	"ratchet/internal/store"
	"ratchet/sandbox"
	"ratchet/workers"
)

// failed is a finding of an error: its words, and its hint or else this one.
func failed(err error, hint string) doctor.Finding {
	if errors.Is(err, context.DeadlineExceeded) {
		return doctor.Fail(hint, "no answer in time: %s", withoutHint(err))
	}
	return doctor.Fail(cmp.Or(hintOf(err), hint), "%s", withoutHint(err))
}

// hintOf is the hint that an error of ratchet's carries, or "".
func hintOf(err error) string {
	var (
		box     *sandbox.Error
		git     *repo.Error
		rows    *store.Error
		model   *llm.Error
		input   *activities.BadInput
		service *workers.ServiceError
	)
	switch {
	case errors.As(err, &box):
		return box.Hint
	case errors.As(err, &git):
		return git.Hint
	case errors.As(err, &rows):
		return rows.Hint
	case errors.As(err, &model):
		return model.Hint
	case errors.As(err, &input):
		return input.Hint
	case errors.As(err, &service):
		return service.Hint
	}
	return lastParenthesis(err.Error())
}

// withoutHint is what an error says besides its hint, which stands in parentheses.
func withoutHint(err error) string {
	text := err.Error()
	if hint := hintOf(err); hint != "" {
		text = strings.Replace(text, " ("+hint+")", "", 1)
	}
	return text
}

// lastParenthesis is what stands in the parentheses at the end of a text; there
// errors without a type of their own give their hints.
func lastParenthesis(text string) string {
	if !strings.HasSuffix(text, ")") {
		return ""
	}
	depth := 0
	for i := len(text) - 1; i > 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 && text[i-1] == ' ' {
			return text[i+1 : len(text)-1]
		}
	}
	return ""
}
