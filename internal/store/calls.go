package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ratchet/internal/model"
)

// Why a call is not admitted, for errors.Is.
var (
	// ErrNoBudget: there is no room for the call, and no call in flight could make any.
	ErrNoBudget = errors.New("the budget has no room for the call")
	// ErrWait: there may be room for the call once a call in flight is settled.
	ErrWait = errors.New("calls in flight hold the rest of the budget")
)

var callTable = table[model.Call]{name: "calls", keys: 1, columns: func(c *model.Call) []column {
	return []column{
		{"id", name(&c.ID)}, {"campaign", name(&c.Campaign)}, {"generation", whole(&c.Generation)}, {"proposer", name(&c.Proposer)},
		{"call_key", name(&c.Key)}, {"endpoint", text(&c.Endpoint)}, {"model", text(&c.Model)}, {"status", text(&c.Status)},
		{"input_tokens", whole(&c.Input)}, {"cached_tokens", whole(&c.Cached)}, {"output_tokens", whole(&c.Output)},
		{"money", real(&c.Money)}, {"most_tokens", whole(&c.MostTokens)}, {"most_money", real(&c.MostMoney)},
		{"answer", text(&c.Answer)}, {"cut", flag(&c.Cut)}, {"error", text(&c.Error)},
		{"started", moment(&c.Started)}, {"ended", moment(&c.Ended)},
	}
}}

// ReserveCall admits one model call, in flight until it is settled. Input, Output
// and Money of c are what it is likely to cost, MostTokens and MostMoney bound it.
// caps are the campaign's limits of tokens and money, each 0 for none; a budget
// that a person has given the campaign since takes their place.
//
// Calls that are not in flight have spent what their rows say. A call is refused
// with ErrNoBudget when its likely cost does not fit on top of that: what is in
// flight can only add to it. It is admitted when all in flight and this one fit
// even if each costs the most it can, so that calls side by side never exceed a
// limit together; and when nothing is in flight, since a call that is likely to
// fit must not be given up for its bound, which is many times what answers cost.
// Otherwise ErrWait: it may fit when something has settled. So a limit is exceeded
// by no more than what one call costs beyond its likely cost, as far as the bounds
// of those beside it hold.
//
// The same id again is success, whatever became of it; of another call it is ErrConflict.
func (s *Store) ReserveCall(ctx context.Context, f Fence, c model.Call, caps model.Budget) error {
	const op = "reserve call of"
	c.Status = model.CallReserved
	if c.ID == "" || c.Campaign == "" {
		return &Error{Op: op, Object: c.Campaign, Err: ErrInvalid, Hint: "a call has an id and a campaign"}
	}
	return s.write(ctx, op, c.Campaign, f, func(tx *sql.Tx) error {
		caps, err := s.lockBudget(ctx, tx, c.Campaign, caps)
		if err != nil {
			return err
		}
		old, err := callTable.one(ctx, tx, "WHERE id = $1", c.ID)
		if err == nil {
			return sameCall(op, old, c)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		u, err := use(ctx, tx, c.Campaign)
		if err != nil {
			return err
		}
		if err := u.admit(c, caps); err != nil {
			return &Error{Op: op, Object: c.Campaign, Err: err, Hint: u.String()}
		}
		_, err = callTable.insert(ctx, tx, "", c)
		return err
	})
}

func sameCall(op string, old, c model.Call) error {
	if old.Campaign != c.Campaign || old.Generation != c.Generation || old.Proposer != c.Proposer || old.Key != c.Key {
		return &Error{Op: op, Object: c.Campaign, Err: ErrConflict, Hint: "the id belongs to another call"}
	}
	return errUnchanged
}

// lockBudget locks the campaign's row, which stands for all its calls, and says
// which limits count.
func (s *Store) lockBudget(ctx context.Context, tx *sql.Tx, campaign string, caps model.Budget) (model.Budget, error) {
	var own *model.Budget
	err := tx.QueryRowContext(ctx, "SELECT budget FROM campaigns WHERE name = $1"+s.dialect.lockRow, campaign).Scan(optDocument(&own))
	if err == nil && own != nil {
		caps = *own
	}
	return caps, err
}

// usage is what a campaign's calls have used, and what those in flight may use.
type usage struct {
	tokens, most      int64
	money, mostMoney  float64
	inFlight, settled int64
}

// use adds up in one statement, so that a call that is being settled is counted
// on one side and not on both or none.
func use(ctx context.Context, q querier, campaign string) (usage, error) {
	var u usage
	err := q.QueryRowContext(ctx, sumUse, campaign).Scan(
		whole(&u.inFlight), whole(&u.most), real(&u.mostMoney), whole(&u.settled), whole(&u.tokens), real(&u.money))
	return u, err
}

const (
	ifFlying = `CASE WHEN status = 'reserved' THEN `
	ifSpent  = `CASE WHEN status <> 'reserved' THEN `
	sumUse   = `SELECT
		` + sumWhole + ifFlying + `1 ELSE 0 END` + asWhole + `,
		` + sumWhole + ifFlying + `most_tokens ELSE 0 END` + asWhole + `,
		` + sumReal + ifFlying + `most_money ELSE 0 END` + asReal + `,
		` + sumSpent + `
		FROM calls WHERE campaign = $1`

	// sumSpent is the number, the tokens and the money of calls that are not in flight.
	sumSpent = sumWhole + ifSpent + `1 ELSE 0 END` + asWhole + `,
		` + sumWhole + ifSpent + `input_tokens + output_tokens ELSE 0 END` + asWhole + `,
		` + sumReal + ifSpent + `money ELSE 0 END` + asReal

	// PostgreSQL's sums of integers are decimals, and sums of nothing are NULL.
	sumWhole = `CAST(COALESCE(SUM(`
	asWhole  = `), 0) AS BIGINT)`
	sumReal  = `CAST(COALESCE(SUM(`
	asReal   = `), 0) AS DOUBLE PRECISION)`
)

// admit is the rule of ReserveCall.
func (u usage) admit(c model.Call, caps model.Budget) error {
	switch {
	case !fits(caps, u.tokens+c.Tokens(), u.money+c.Money):
		return ErrNoBudget
	case u.inFlight == 0, fits(caps, u.tokens+u.most+c.MostTokens, u.money+u.mostMoney+c.MostMoney):
		return nil
	}
	return ErrWait
}

func fits(caps model.Budget, tokens int64, money float64) bool {
	return (caps.Tokens <= 0 || tokens <= caps.Tokens) && (caps.Money <= 0 || money <= caps.Money)
}

func (u usage) String() string {
	return fmt.Sprintf("%d calls have used %d tokens and %.4g in money, %d are in flight", u.settled, u.tokens, u.money, u.inFlight)
}

// SettleCall stores how a call ended: answered or failed, with what it cost. A
// call that was given up as lost is corrected. The same again is success, another
// end is ErrConflict, an id that was never reserved ErrNotFound. It is fenced by
// nothing: what a call has cost is true, whoever learns it.
func (s *Store) SettleCall(ctx context.Context, c model.Call) error {
	const op = "settle call of"
	if c.Status != model.CallAnswered && c.Status != model.CallFailed {
		return &Error{Op: op, Object: c.Campaign, Err: ErrInvalid, Hint: "a call ends answered or failed"}
	}
	return s.write(ctx, op, c.Campaign, Fence{}, func(tx *sql.Tx) error {
		old, err := callTable.one(ctx, tx, "WHERE id = $1"+s.dialect.lockRow, c.ID)
		if err != nil {
			return err
		}
		if err := sameCall(op, old, c); !errors.Is(err, errUnchanged) {
			return err
		}
		if old.Status == model.CallReserved || old.Status == model.CallLost {
			_, err = callTable.update(ctx, tx, c)
			return err
		}
		same, err := callTable.same(old, c)
		if err == nil && !same {
			err = &Error{Op: op, Object: c.Campaign, Err: ErrConflict, Hint: "the call has ended as " + string(old.Status) + ", with another record"}
		}
		if err != nil {
			return err
		}
		return errUnchanged
	})
}

// LoseCalls gives up the calls of a campaign that are in flight in generations up
// to last, and returns how many. An activity does so when it begins, for nobody
// waits for the calls of an attempt before it. A lost call counts with its likely
// cost until it is settled after all. Twice is the same as once.
func (s *Store) LoseCalls(ctx context.Context, f Fence, campaign string, last int) (lost int64, err error) {
	err = s.write(ctx, "give up calls of", campaign, f, func(tx *sql.Tx) error {
		// Two at once must not lock the same calls in another order.
		if _, err := s.lockBudget(ctx, tx, campaign, model.Budget{}); err != nil {
			return err
		}
		lost, err = affected(tx.ExecContext(ctx, `UPDATE calls SET status = 'lost', ended = $1
			WHERE campaign = $2 AND generation <= $3 AND status = 'reserved'`, micros(s.cfg.Now()), campaign, last))
		return err
	})
	return lost, err
}

// AnsweredCall reads the call that answered a proposer's question in a
// generation, the first of several; ErrNotFound when none did.
func (s *Store) AnsweredCall(ctx context.Context, campaign string, generation int, proposer, key string) (model.Call, error) {
	c, err := callTable.one(ctx, s.readers, answered, campaign, generation, proposer, key)
	return c, wrap("read the answer to", generationName(campaign, generation)+"/"+proposer+"/"+key, err)
}

const answered = `WHERE campaign = $1 AND generation = $2 AND proposer = $3 AND call_key = $4 AND status = 'answered'
	ORDER BY ended, id LIMIT 1`

// Calls reads the campaign's calls, oldest first.
func (s *Store) Calls(ctx context.Context, campaign string) ([]model.Call, error) {
	all, err := callTable.all(ctx, s.readers, "WHERE campaign = $1 ORDER BY started, id", campaign)
	return all, wrap("read calls of", campaign, err)
}

// Spent is what the calls of a campaign have cost: Tokens, Money and Calls, those
// in flight not counted. The other fields are zero.
func (s *Store) Spent(ctx context.Context, campaign string) (model.Cost, error) {
	return s.spent(ctx, campaign, sumAll, campaign)
}

// SpentIn is Spent of one generation.
func (s *Store) SpentIn(ctx context.Context, campaign string, generation int) (model.Cost, error) {
	return s.spent(ctx, generationName(campaign, generation), sumGeneration, campaign, generation)
}

const (
	sumAll        = `SELECT ` + sumSpent + ` FROM calls WHERE campaign = $1`
	sumGeneration = sumAll + ` AND generation = $2`
)

func (s *Store) spent(ctx context.Context, object, query string, args ...any) (model.Cost, error) {
	var c model.Cost
	err := s.readers.QueryRowContext(ctx, query, args...).Scan(whole(&c.Calls), whole(&c.Tokens), real(&c.Money))
	return c, wrap("add up calls of", object, err)
}
