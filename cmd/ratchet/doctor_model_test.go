package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/doctor"
	"ratchet/internal/llm/llmtest"
)

const testKey = "sk-very-secret-0123456789"

// modelCampaign writes a campaign whose one endpoint, local, is at url, with more of its keys.
func (c *cli) modelCampaign(name, url, model, more string) string {
	c.t.Helper()
	c.repository(name+".git", "main", module(map[string]string{"clamp_test.go": okTest}))
	return c.campaign(name, "./"+name+".git", fmt.Sprintf("endpoints: [{name: local, url: %q, model: %s, key_env: LOCAL_KEY%s}]", url, model, more),
		"proposers: [{kind: llm, max_tokens: 2048}]")
}

func TestDoctorOfAModel(t *testing.T) {
	needDocker(t)
	s := llmtest.Start(t, llmtest.Config{Key: testKey, Context: 16384, Script: llmtest.Say("yes")})
	c := newCLI(t)
	file := c.modelCampaign("good", s.V1(), s.Model(), "")
	d := c.doctor(exitEnvironment, file)
	d.says("model local", doctor.Failed, "LOCAL_KEY is not set", "export LOCAL_KEY=")
	require.Empty(t, s.Requests(), "not asked without its key")

	c.env["LOCAL_KEY"] = testKey
	d = c.doctor(exitOK, file)
	d.says("model local", doctor.OK, "test-model answers, first token after", "context 16384 tokens")
	d.says("clock", doctor.OK, "endpoint local agrees")
	require.Len(t, s.Requests(), 1)
	require.Equal(t, 1, s.Requests()[0].MaxTokens)

	c.env["LOCAL_KEY"] = "sk-wrong-key-9876543210"
	d = c.doctor(exitEnvironment, file)
	d.says("model local", doctor.Failed, "401", "correct the key in the environment variable LOCAL_KEY")
	for _, args := range [][]string{{"doctor", file}, {"doctor", file, "--json"}, {"doctor", file, "-v"}} {
		r := c.run(args...)
		require.NotContains(t, r.stdout+r.stderr, "9876543210")
		require.NotContains(t, r.stdout+r.stderr, testKey)
	}
}

func TestDoctorOfModelsThatDoNotFit(t *testing.T) {
	needDocker(t)
	s := llmtest.Start(t, llmtest.Config{Context: 4096})
	c := newCLI(t)
	c.env["LOCAL_KEY"] = testKey
	d := c.doctor(exitUsage, c.modelCampaign("absent", s.V1(), "gpt-none", ""))
	d.says("model local", doctor.Failed, "gpt-none", "test-model", "correct model or url of endpoint local")
	d = c.doctor(exitUsage, c.modelCampaign("short", s.V1(), "test-model", ", context: 32768"))
	d.says("model local", doctor.Failed, "context is 32768 in the file, 4096 at the server", "lower context")
	c.doctor(exitOK, c.modelCampaign("fits", s.V1(), "test-model", ", context: 4096")).says("model local", doctor.OK, "context 4096")

	tiny := llmtest.Start(t, llmtest.Config{Context: 2500})
	d = c.doctor(exitUsage, c.modelCampaign("tiny", tiny.V1(), "test-model", ""))
	d.says("model local", doctor.Failed, "leaves no room for a prompt beside 2048", "max_tokens of proposer llm")
}

func TestDoctorOfModelsThatDoNotAnswer(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.env["LOCAL_KEY"] = testKey
	d := c.doctor(exitEnvironment, c.modelCampaign("down", llmtest.Refused(t)+"/v1", "test-model", ""))
	d.says("model local", doctor.Failed, "cannot be used", "start the server, or correct url of endpoint local")
	d.says("clock", doctor.OK)

	s := llmtest.Start(t, llmtest.Config{})
	file := c.modelCampaign("stalled", s.V1(), "test-model", "")
	for name, x := range map[string]struct {
		reply llmtest.Reply
		text  string
	}{
		"silence":  {llmtest.Silence(), "the server hangs"},
		"busy":     {llmtest.Unavailable(0), "wait, or lower parallel"},
		"broken":   {llmtest.ServerError(), "start the server"},
		"rejected": {llmtest.Unprocessable(), "correct protocol or model"},
	} {
		s.SetScript(x.reply)
		r := c.run("doctor", file, "--json", "--timeout", "3s")
		require.NotEqual(t, exitOK, r.code, name)
		d := diagnosis{t: t}
		decodeOne(t, r.stdout, &d.Report)
		d.says("model local", doctor.Failed, x.text)
		d.says("NATS", doctor.OK)
	}
	s.SetHealth(503) // the engine is dead, or still loading
	c.doctor(exitEnvironment, file).says("model local", doctor.Failed, "503", "start the server")
}
