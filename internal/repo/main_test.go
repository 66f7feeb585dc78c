package repo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"ratchet/internal/model"
	"ratchet/internal/repo"
)

// childTask names the environment variable by which tests run themselves as a
// second process.
const childTask = "RATCHET_REPO_CHILD"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(childTask) {
	case "":
		os.Exit(m.Run())
	case "count":
		err = childCount(os.Args[1], os.Args[2], os.Args[3])
	case "flip":
		err = childFlip(os.Args[1], os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childCount puts n commits on main, one after the other.
func childCount(path, name, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	r, err := repo.Open(context.Background(), path)
	if err != nil {
		return err
	}
	for i := range n {
		if err := addCommit(r, fmt.Sprintf("%s-%d", name, i)); err != nil {
			return err
		}
	}
	return r.Close()
}

// addCommit puts one commit on main, however many others try to do the same.
func addCommit(r *repo.Repo, name string) error {
	ctx := context.Background()
	for {
		tip, err := r.Ref(ctx, "refs/heads/main")
		if err != nil {
			return err
		}
		c, err := r.Commit(ctx, repo.CommitSpec{Parent: tip, Subject: name, When: when,
			Edits: []model.Edit{{Path: name, Data: []byte(name)}}})
		if err != nil {
			return err
		}
		err = r.SetRef(ctx, "refs/heads/main", tip, c.Hash)
		if !errors.Is(err, repo.ErrConflict) {
			return err
		}
	}
}

// childFlip moves a ref to and fro and says so, until it is killed.
func childFlip(path, a, b string) error {
	r, err := repo.Open(context.Background(), path)
	if err != nil {
		return err
	}
	for {
		if err := r.SetRef(context.Background(), "refs/heads/main", a, b); err != nil {
			return err
		}
		a, b = b, a
		fmt.Println("moved")
	}
}
