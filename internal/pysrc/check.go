package pysrc

// Check finds the first syntax error that Parse does not look for: an expression
// that is none, something that cannot be assigned to, an else without an if. It
// knows no meanings: a return outside of a function passes. Its error is an *Error.
func (f *File) Check() error { return check(f.Body) }

func check(list []*Stmt) error {
	for i, s := range list {
		if err := s.check(); err != nil {
			return err
		}
		var before *Stmt
		if i > 0 {
			before = list[i-1]
		}
		if !s.continues(before) {
			return errorAt(s.Tokens[0], "'"+s.Kind+"' continues nothing")
		}
		if needsMore(s, list[i+1:]) {
			return errorAt(s.Tokens[0], "'"+s.Kind+"' lacks what must follow")
		}
		if err := check(s.Block); err != nil {
			return err
		}
	}
	return nil
}

// continues says that a statement may follow the one before it. It does not look
// further back: the else before a finally may be that of a loop.
func (s *Stmt) continues(before *Stmt) bool {
	kind := ""
	if before != nil {
		kind = before.Kind
	}
	switch s.Kind {
	case "elif":
		return kind == "if" || kind == "elif"
	case "else":
		return kind == "if" || kind == "elif" || kind == "for" || kind == "while" || kind == "except"
	case "except":
		return kind == "try" || kind == "except"
	case "finally":
		return kind == "try" || kind == "except" || kind == "else"
	}
	return kind != "decorator" || s.Kind == "def" || s.Kind == "class" || s.Kind == "decorator"
}

// needsMore says that a try or a decorator stands alone, or a match without cases.
func needsMore(s *Stmt, after []*Stmt) bool {
	switch s.Kind {
	case "try":
		return len(after) == 0 || after[0].Kind != "except" && after[0].Kind != "finally"
	case "decorator":
		return len(after) == 0
	case "match":
		for _, c := range s.Block {
			if c.Kind != "case" {
				return true
			}
		}
	}
	return false
}

func (s *Stmt) check() error {
	parts, err := s.Parts()
	if err != nil {
		return err
	}
	for _, part := range parts {
		if part.Role == RoleTarget && !assignable(part.Expr) {
			return errorAt(s.Tokens[part.Expr.First], "cannot assign to this")
		}
	}
	return nil
}

// assignable says that an expression can be the target of an assignment.
func assignable(e *Expr) bool {
	switch e.Kind {
	case NameExpr, AttributeExpr, SubscriptExpr:
		return true
	case StarExpr:
		return assignable(e.Parts[0])
	case TupleExpr, ListExpr, ParenExpr:
		for _, x := range e.Parts {
			if !assignable(x) {
				return false
			}
		}
		return true
	}
	return false
}
