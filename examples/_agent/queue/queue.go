// Package queue holds work that waits: what is more urgent comes first, and of
// equally urgent work what came first.
package queue

import "container/heap"

// Task is one piece of work.
type Task struct {
	Name     string
	Priority int // higher is more urgent
}

// Queue is a priority queue; its zero value is empty. It is not safe for concurrent use.
type Queue struct {
	items items
	seq   int // arrivals so far
}

// Push adds a task.
func (q *Queue) Push(t Task) {
	heap.Push(&q.items, item{Task: t, seq: q.seq})
	q.seq++
}

// Pop removes the next task; false when there is none.
func (q *Queue) Pop() (Task, bool) {
	if len(q.items) == 0 {
		return Task{}, false
	}
	next := heap.Pop(&q.items).(item)
	q.seq = 0
	return next.Task, true
}

// Len is the number of tasks that wait.
func (q *Queue) Len() int { return len(q.items) }

// Drain removes all tasks, in order.
func (q *Queue) Drain() []Task {
	var out []Task
	for {
		t, ok := q.Pop()
		if !ok {
			return out
		}
		out = append(out, t)
	}
}

type item struct {
	Task
	seq int
}

// items is a heap with the next task on top.
type items []item

func (s items) Len() int      { return len(s) }
func (s items) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *items) Push(x any)   { *s = append(*s, x.(item)) }

func (s items) Less(i, j int) bool {
	if s[i].Priority == s[j].Priority {
		return s[i].seq < s[j].seq
	}
	return s[i].Priority < s[j].Priority
}

func (s *items) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}
