package repo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// packWindow is git's default number of objects that a delta is sought among.
const packWindow = 10

// pushRemote pushes one ref over a transport. It speaks the protocol with
// go-git's parts: go-git's own Push reads all local refs, wants remote-tracking
// refs for a lease and has none for a ref that must not exist. The old value is
// sent along, and the server compares it again.
func (r *Repo) pushRemote(ctx context.Context, address, hash, ref, expectOld string) error {
	ep, err := transport.NewEndpoint(address)
	if err != nil {
		return fail("push to", address, err)
	}
	c, err := client.NewClient(ep)
	if err != nil {
		return fail("push to", address, err)
	}
	err = signedIn(address, func(auth transport.AuthMethod) error {
		session, err := c.NewReceivePackSession(ep, auth)
		if err != nil {
			return err
		}
		err = r.pushSession(ctx, session, hash, ref, expectOld)
		if closed := session.Close(); err == nil && closed != nil {
			return closed
		}
		return err
	})
	return remoteError("push to", address, err)
}

func (r *Repo) pushSession(ctx context.Context, session transport.ReceivePackSession, hash, ref, expectOld string) error {
	adv, err := session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		adv, err = packp.NewAdvRefs(), nil
	}
	if err != nil {
		return err
	}
	now := ""
	if h, ok := adv.References[ref]; ok {
		now = h.String()
	}
	switch now {
	case hash:
		return nil
	case expectOld:
		return r.send(ctx, session, adv, hash, ref, now)
	}
	return &Error{Op: "push to", Object: ref, Hint: "somebody else pushed there",
		Err: fmt.Errorf("%w: it is %s there, expected %s", ErrConflict, orNone(now), orNone(expectOld))}
}

func (r *Repo) send(ctx context.Context, session transport.ReceivePackSession, adv *packp.AdvRefs, hash, ref, old string) error {
	req := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	cmd := &packp.Command{Name: plumbing.ReferenceName(ref), New: plumbing.NewHash(hash)}
	if old != "" {
		cmd.Old = plumbing.NewHash(old)
	}
	req.Commands = []*packp.Command{cmd}
	return r.read(ctx, func(s *filesystem.Storage) error {
		have := remoteHas(s, adv)
		objects, err := revlist.Objects(s, []plumbing.Hash{cmd.New}, have)
		if err != nil {
			return err
		}
		pr, pw := io.Pipe()
		packed := make(chan struct{})
		go func() {
			defer close(packed)
			_, err := packfile.NewEncoder(pw, s, false).Encode(objects, packWindow)
			_ = pw.CloseWithError(err)
		}()
		req.Packfile = pr
		status, err := session.ReceivePack(ctx, req)
		_ = pr.Close() // ends the encoder if the server went away
		<-packed       // s is lent only for as long as this function runs
		if err == nil && status != nil {
			err = status.Error()
		}
		return err
	})
}

// remoteHas lists the remote's tips that are known here; what they need is not sent.
func remoteHas(s *filesystem.Storage, adv *packp.AdvRefs) []plumbing.Hash {
	var have []plumbing.Hash
	for _, h := range adv.References {
		if s.HasEncodedObject(h) == nil {
			have = append(have, h)
		}
	}
	return have
}
