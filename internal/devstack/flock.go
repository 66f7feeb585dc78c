package devstack

import (
	"sync"

	"github.com/gofrs/flock"
)

// fileLock is an exclusive lock that is held until it is released or the process
// ends. A goroutine refers to it as long: were it only a value that the owner may
// forget, the garbage collector would close its file and so give up the lock.
type fileLock struct {
	flock   *flock.Flock
	release chan struct{}
	once    sync.Once
	done    chan struct{}
	err     error
}

// tryLock returns nil without an error when somebody else holds the lock.
func tryLock(path string) (*fileLock, error) {
	f := flock.New(path)
	if ok, err := f.TryLock(); err != nil || !ok {
		return nil, err
	}
	l := &fileLock{flock: f, release: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		<-l.release
		l.err = l.flock.Unlock()
	}()
	return l, nil
}

// unlock may be called several times.
func (l *fileLock) unlock() error {
	l.once.Do(func() { close(l.release) })
	<-l.done
	return l.err
}
