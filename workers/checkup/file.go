package checkup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ratchet/activities"
	"ratchet/benchmarks"
	"ratchet/internal/campaign"
	"ratchet/internal/doctor"
	"ratchet/internal/repo"
	"ratchet/internal/store"
)

func (c *checkup) file(context.Context) doctor.Finding {
	var wrong *campaign.Errors
	switch {
	case c.File == "":
		f, _ := c.noFile()
		return f
	case errors.As(c.Wrong, &wrong):
		f := ofInput(doctor.Fail("correct what is listed; `ratchet schema` prints the form of the file", "%s has %s", c.File, count(len(wrong.List), "error")))
		f.Details = strings.Split(wrong.Error(), "\n")
		return f
	case c.Wrong != nil:
		return ofInput(doctor.Fail("name a campaign file that can be read", "%v", c.Wrong))
	}
	return doctor.Fine("%s: campaign %s", c.File, c.Spec.Name)
}

// repository reads the repository as a campaign would before it starts.
func (c *checkup) repository(ctx context.Context) doctor.Finding {
	found, err := preflight(ctx, c.Spec)
	if err != nil {
		if c.begun(ctx) {
			return doctor.Warn("mend it before another campaign starts from it", "campaign %s goes on from its own copy, but: %s", c.Spec.Name, withoutHint(err))
		}
		const mend = "check repo and base in the campaign file"
		f := failed(err, mend)
		if f.Hint != mend {
			f.Hint += "; " + mend
		}
		f.Input = isInput(err)
		return f
	}
	said := fmt.Sprintf("%s at %.10s (%s): %s", c.Spec.Repo, found.Commit, c.Spec.Base, problemsFound(found))
	if lfs := repo.LFSPointers(found.Tree); len(lfs) > 0 {
		return doctor.Warn("commit the files themselves, or leave problems that read one out of the suites",
			"%s; %s in Git LFS, such as %s: problems that read one see the pointer", said, count(len(lfs), "file"), lfs[0])
	}
	return doctor.Fine("%s", said)
}

func preflight(ctx context.Context, spec campaign.Spec) (found activities.Checkout, err error) {
	dir, err := os.MkdirTemp("", "ratchet-doctor-")
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return activities.Preflight(ctx, spec, filepath.Join(dir, "repo.git"))
}

func problemsFound(found activities.Checkout) string {
	said := count(len(found.Problems), "problem")
	if len(found.Unlisted) > 0 {
		said += "; those of " + strings.Join(found.Unlisted, ", ") + " are found in a sandbox"
	}
	return said
}

// begun says that the campaign has its baseline, after which it needs the source
// no more. What cannot be read counts as not begun.
func (c *checkup) begun(ctx context.Context) bool {
	s, err := store.Open(ctx, c.storeConfig())
	if err != nil {
		return false
	}
	defer s.Close()
	row, err := s.Campaign(ctx, c.Spec.Name)
	return err == nil && row.Baseline != nil && row.Source == c.Spec.Repo
}

// isInput says that what is wrong is in the file or what it names.
func isInput(err error) bool {
	var bad *activities.BadInput
	if errors.As(err, &bad) {
		return true
	}
	for _, kind := range []error{repo.ErrNotFound, repo.ErrNoRef, repo.ErrEmpty, repo.ErrUnsupported, benchmarks.ErrConfig} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func (c *checkup) git(context.Context) doctor.Finding {
	return doctor.Fine("built in; no git command is needed")
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
