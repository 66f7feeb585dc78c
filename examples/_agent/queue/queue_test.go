package queue

import (
	"slices"
	"testing"
)

func names(tasks []Task) []string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.Name)
	}
	return out
}

func expect(t *testing.T, q *Queue, want ...string) {
	t.Helper()
	if got := names(q.Drain()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPopFromEmptyQueue(t *testing.T) {
	var q Queue
	if task, ok := q.Pop(); ok {
		t.Errorf("got %v", task)
	}
}

func TestPopReturnsWhatWasPushed(t *testing.T) {
	var q Queue
	q.Push(Task{Name: "a", Priority: 3})
	if task, ok := q.Pop(); !ok || task != (Task{Name: "a", Priority: 3}) {
		t.Errorf("got %v, %v", task, ok)
	}
}

func TestLen(t *testing.T) {
	var q Queue
	q.Push(Task{Name: "a"})
	q.Push(Task{Name: "b"})
	q.Pop()
	if q.Len() != 1 {
		t.Errorf("got %d, want 1", q.Len())
	}
}

func TestEqualTasksInOrderOfArrival(t *testing.T) {
	var q Queue
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		q.Push(Task{Name: name})
	}
	expect(t, &q, "a", "b", "c", "d", "e")
}

func TestUrgentTasksFirst(t *testing.T) {
	var q Queue
	q.Push(Task{Name: "low", Priority: 1})
	q.Push(Task{Name: "high", Priority: 9})
	q.Push(Task{Name: "middle", Priority: 5})
	expect(t, &q, "high", "middle", "low")
}

func TestNegativePriorityLast(t *testing.T) {
	var q Queue
	q.Push(Task{Name: "idle", Priority: -1})
	q.Push(Task{Name: "normal"})
	expect(t, &q, "normal", "idle")
}

func TestArrivalCountsAcrossPops(t *testing.T) {
	var q Queue
	q.Push(Task{Name: "a"})
	q.Push(Task{Name: "b"})
	q.Push(Task{Name: "c"})
	q.Pop()
	q.Push(Task{Name: "d"})
	expect(t, &q, "b", "c", "d")
}

func TestUrgencyAndArrivalTogether(t *testing.T) {
	var q Queue
	q.Push(Task{Name: "a", Priority: 1})
	q.Push(Task{Name: "b", Priority: 2})
	q.Push(Task{Name: "c", Priority: 1})
	if task, _ := q.Pop(); task.Name != "b" {
		t.Errorf("got %q, want the urgent one, b", task.Name)
	}
	q.Push(Task{Name: "d", Priority: 1})
	expect(t, &q, "a", "c", "d")
}
